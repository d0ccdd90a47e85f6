/* The argument of FICLONE is a descriptor, whatever its number says (cp). A FIDEDUPERANGE with more targets than fit
 * into a page is refused before any is read; with fewer all are looked at.
 * @expect: Syscall param ioctl(FIDEDUPERANGE).info points to unaddressable byte(s) at ioctl
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <linux/fs.h>

int main(void) {
    struct file_dedupe_range *range = calloc(1, sizeof *range + sizeof range->info[0]);
    printf("%d\n", ioctl(1, FICLONE, 0));
    range->dest_count = 128;
    printf("%d\n", ioctl(1, FIDEDUPERANGE, range));
    range->dest_count = 0x1001;
    printf("%d\n", ioctl(1, FIDEDUPERANGE, range));
    range->dest_count = 127;
    printf("%d\n", ioctl(1, FIDEDUPERANGE, range));
    free(range);
    return 0;
}
