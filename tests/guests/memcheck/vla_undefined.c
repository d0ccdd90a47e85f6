/* Arrays of variable length: undefined each time anew, also where the last round had written. */
static int __attribute__((noinline)) look(int n, int write) {
    int a[n];
    if (write)
        for (int i = 0; i < n; i++)
            a[i] = i;
    return a[n - 1] == 3 ? 1 : 0; /* undefined unless written */
}

int main(void) {
    int found = 0;
    for (int i = 1; i < 6; i++)
        found += look(i * 5, 1);
    for (int i = 1; i < 4; i++)
        found += look(i * 5, 0);
    for (int i = 1; i < 3; i++) {
        char b[i * 100];
        if (b[50]) /* in a loop's body: the same bytes again */
            found++;
        b[50] = 0;
    }
    return 0;
}
