/* The argument of FICLONE is a descriptor, whatever its number says (cp). */
#include <stdio.h>
#include <sys/ioctl.h>
#include <linux/fs.h>

int main(void) {
    printf("%d\n", ioctl(1, FICLONE, 0));
    return 0;
}
