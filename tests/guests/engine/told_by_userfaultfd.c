/* A call that drops or unmaps memory waits until another thread has read of it from the userfaultfd; that one maps memory
   and opens files before it does. */
// modes: default memcheck
// flags: -pthread
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ul

static char *area;
static int dropped, unmapped;

static void *change(void *unused) {
    (void)unused;
    dropped = madvise(area, PAGE, MADV_DONTNEED);
    unmapped = munmap(area + PAGE, PAGE);
    return NULL;
}

/* What the table of mappings is needed for. */
static void map_some(void) {
    char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, 3 * PAGE);
    mprotect(p + PAGE, PAGE, PROT_READ);
    char line[64];
    FILE *f = fopen("/proc/self/maps", "r");
    printf("%d %d\n", p[2 * PAGE], f && fgets(line, sizeof line, f) ? 1 : 0);
    if (f) fclose(f);
}

int main(void) {
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP};
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0) {
        printf("none\n");
        return 0;
    }
    area = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(area, 1, 4 * PAGE);
    struct uffdio_register reg = {.range = {(unsigned long)area, 4 * PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    printf("register %d\n", ioctl(fd, UFFDIO_REGISTER, &reg));
    pthread_t t;
    pthread_create(&t, NULL, change, NULL);
    for (int i = 0; i < 2; i++) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        struct uffd_msg m;
        printf("poll %d\n", poll(&p, 1, 20000));
        map_some();
        if (read(fd, &m, sizeof m) != sizeof m) break;
        printf("event %#x, page %ld to %ld\n", m.event, (long)(m.arg.remove.start - (unsigned long)area) / (long)PAGE,
               (long)(m.arg.remove.end - (unsigned long)area) / (long)PAGE);
    }
    pthread_join(t, NULL);
    printf("dropped %d, unmapped %d\n", dropped, unmapped);
    printf("%d %d\n", area[2 * PAGE], msync(area + PAGE, PAGE, MS_ASYNC));
    return 0;
}
