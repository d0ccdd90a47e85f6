#include <setjmp.h>
jmp_buf there;
int hops;
void hop(int n) { hops++; longjmp(there, n); }
int main(void) {
    int n = setjmp(there);
    if (n < 3)
        hop(n + 1);
    return hops;
}
