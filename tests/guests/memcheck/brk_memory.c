/* Memory from brk is undefined, ends where it ends, and comes back undefined. */
#include <unistd.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    char *old = sbrk(0), *p = sbrk(10000);
    volatile int sum = 0;
    if (p[9999]) sum++;
    sum += p[10000];
    memset(p,1,10000);
    brk(old + 100);
    sum += p[99];
    sum += p[100];
    char *again = sbrk(5000);
    if (again[0]) sum++;
    if (p[99]) sum++;
    write(1,p+200,0);
    write(-1,p+200,20);
    return 0;
}
