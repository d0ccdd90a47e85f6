/* Built as a library, whose functions go on in each other by its linkage table, and, with MAIN, as what calls it. */
#ifdef MAIN
unsigned first(unsigned x);
int main(void) {
    unsigned sum = 0;
    for (unsigned i = 0; i < 4; i++) sum += first(i);
    return sum == 0;
}
#else
unsigned last(unsigned x) { return x * 3; }
unsigned second(unsigned x) { return last(x + 2); }
unsigned first(unsigned x) { return second(x + 1); }
#endif
