/* Code on pages that another thread brings when they are fetched from (userfaultfd), after it has run new code. */
// modes: default memcheck
// flags: -pthread
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 6, FUNCTIONS = 64, BYTES = 16 };

static int uffd;

/* mov $n, %eax; ret */
static void put(unsigned char *at, int n) {
    at[0] = 0xb8;
    memcpy(at + 1, &n, sizeof n);
    at[5] = 0xc3;
}

static int call(unsigned char *at) { return ((int (*)(void))(void *)at)(); }

static int sum_of_new_code(void) {
    int sum = 0;
    unsigned char *code = mmap(NULL, FUNCTIONS * BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < FUNCTIONS; i++) put(code + i * BYTES, i);
    for (int i = 0; i < FUNCTIONS; i++) sum += call(code + i * BYTES);
    return sum;
}

/* Every second page is all nops, and control goes on in the next one. */
static void *bring(void *arg) {
    unsigned char *first = arg;
    struct uffd_msg message;
    while (read(uffd, &message, sizeof message) == sizeof message) {
        static unsigned char page[PAGE] __attribute__((aligned(PAGE)));
        unsigned long at = message.arg.pagefault.address & -(unsigned long)PAGE;
        int sum = sum_of_new_code();
        memset(page, 0x90, sizeof page);
        if ((at - (unsigned long)first) / PAGE % 2) put(page, sum);
        struct uffdio_copy copy = {.dst = at, .src = (unsigned long)page, .len = PAGE};
        ioctl(uffd, UFFDIO_COPY, &copy);
    }
    return NULL;
}

int main(void) {
    uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    unsigned char *code = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {{(unsigned long)code, PAGES * PAGE}, UFFDIO_REGISTER_MODE_MISSING, 0};
    if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) < 0 || ioctl(uffd, UFFDIO_REGISTER, &range) < 0) {
        puts("not here");
        return 0;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, bring, code);
    for (int i = 0; i < PAGES; i += 2) printf("%d\n", call(code + i * PAGE));
    return 0;
}
