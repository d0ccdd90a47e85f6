/* Functions that go on in each other, of which only outer and middle keep their names when the library is stripped. */
#ifdef MAIN
unsigned outer(unsigned x);
int main(void) {
    unsigned sum = 0;
    for (unsigned i = 0; i < 4; i++) sum += outer(i);
    return sum == 0;
}
#else
#define F __attribute__((noinline, noipa)) unsigned
static F inner(unsigned x) { return x * 3; }
F middle(unsigned x) { return inner(x + 1); }
static F before(unsigned x) { return middle(x + 2); }
F outer(unsigned x) { return before(x) + 1; }
#endif
