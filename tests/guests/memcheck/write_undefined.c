/* write() of a structure that was set in part. */
#include <string.h>
#include <unistd.h>

struct record { char tag[6]; short len; int body[4]; };

static void __attribute__((noinline)) put(int fd, const void *p, size_t n) {
    if (write(fd, p, n) < 0)
        _exit(1);
}

int main(void) {
    int fds[2];
    struct record r;
    memcpy(r.tag, "record", 6);
    r.len = 4;
    r.body[0] = 1;
    if (pipe(fds))
        return 1;
    put(fds[1], &r, 8);
    put(fds[1], &r, sizeof r);
    return 0;
}
