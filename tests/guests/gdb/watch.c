#include <string.h>
#include <stdio.h>
struct { char before[64]; int here; char behind[4096]; } area;
int other;
char text[32];
void fill(void) { memset(&area, 0, sizeof area); }
int look(void) { return area.behind[4000]; }
int main(void) {
    other = 1;
    area.here = 5;
    other = 2;
    area.here = 6;
    int seen = area.here;
    area.behind[100] = 1;
    look();
    __asm__ volatile("rep stosb" : : "D"(text), "c"(20), "a"('x') : "memory");
    fill();
    __asm__ volatile("push $77; marked: pop %%rax" : : : "rax");
    printf("%d\n", seen);
    return 0;
}
