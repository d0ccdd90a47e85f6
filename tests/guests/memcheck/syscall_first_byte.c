/* Buffers that are undefined in part and too short: the first wrong byte is the one that is told. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void) {
    char *p = malloc(10);
    int fd = open("/dev/null", O_WRONLY);
    write(fd, p, 20); /* undefined at 0 */
    memset(p, 0, 5);
    write(fd, p, 20); /* undefined at 5 */
    memset(p, 0, 10);
    write(fd, p, 20);     /* unaddressable at 10 */
    write(fd, p - 4, 20); /* unaddressable at -4 */
    write(fd, p, 0);      /* nothing */
    free(p);
    write(fd, p, 10); /* unaddressable at 0 */
    return 0;
}
