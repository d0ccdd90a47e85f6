/* Ends with alignment checked and the direction flag set: what is called in the C library before the end (freeres)
 * knows neither. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

int main(void) {
    void *p = malloc(10);
    printf("%d\n", p != NULL);
    fflush(stdout);
    free(p);
    __asm__ volatile("push %0; popfq; syscall" ::"r"(0x40602ul), "a"((long)SYS_exit_group), "D"(3l));
    return 0;
}
