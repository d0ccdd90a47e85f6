/* A leaf function's locals lie in the red zone; the next function finds them
 * undefined again.  leaf is one block, branchy several. */
/* @expect: Conditional jump or move depends on uninitialised value(s) at user
 * @expect: Conditional jump or move depends on uninitialised value(s) at user_of_more */
#include <stdio.h>

int leaf(int x) {
    int a = x, b = x + 1, c = x + 2, d = x + 3, e = x + 4, f = x + 5;
    return a + b + c + d + e + f;
}

int branchy(int x) {
    int a[24];
    for (int i = 0; i < 24; i++)
        a[i] = x + i;
    return a[x & 15];
}

int user(int k) {
    int b[5];
    if (k > 100)
        b[3] = 1;
    return b[3] > k ? 1 : 2;
}

int user_of_more(int k) {
    int b[20];
    if (k > 100)
        b[13] = 1;
    if (b[13] > k)
        return 1;
    return 2;
}

int main(int argc, char **argv) {
    int s = leaf(argc);
    s += user(argc);
    s += branchy(argc);
    s += user_of_more(argc);
    printf("%d\n", s & 0);
    return 0;
}
