/* A write to an address where nothing is: an invalid write, then death by SIGSEGV. */
int main(void) {
    volatile int *p = (volatile int *)0x12340;
    *p = 1;
    return 0;
}
