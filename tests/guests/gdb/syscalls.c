#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>
int main(void) {
    syscall(SYS_getppid);
    syscall(SYS_getuid);
    syscall(SYS_getppid);
    return 0;
}
