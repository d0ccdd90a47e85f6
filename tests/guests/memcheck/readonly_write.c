/* A write to a constant: no error of memcheck's, death by SIGSEGV. */
static const int limit[4] = {1, 2, 3, 4};

int main(void) {
    volatile int *p = (volatile int *)limit;
    p[2] = 5;
    return 0;
}
