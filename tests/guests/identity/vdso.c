/* The vDSO is there, is found, works, and a handler sees it on the stack. */
#define _GNU_SOURCE
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const ElfW(Ehdr) *image;
static volatile sig_atomic_t inside, unwound, ticks;

static void *symbol(const char *name) {
    const ElfW(Phdr) *ph = (const void *)((const char *)image + image->e_phoff);
    const ElfW(Dyn) *dyn = NULL;
    uintptr_t bias = (uintptr_t)image;
    for (int i = 0; i < image->e_phnum; i++) {
        if (ph[i].p_type == PT_LOAD) bias = (uintptr_t)image - ph[i].p_vaddr + ph[i].p_offset;
        if (ph[i].p_type == PT_DYNAMIC) dyn = (const void *)((const char *)image + ph[i].p_offset);
    }
    const ElfW(Sym) *symtab = NULL;
    const char *strtab = NULL;
    for (; dyn->d_tag; dyn++) {
        if (dyn->d_tag == DT_SYMTAB) symtab = (const void *)(bias + dyn->d_un.d_ptr);
        if (dyn->d_tag == DT_STRTAB) strtab = (const void *)(bias + dyn->d_un.d_ptr);
    }
    for (int i = 1; i < 64; i++)
        if (strcmp(strtab + symtab[i].st_name, name) == 0) return (void *)(bias + symtab[i].st_value);
    return NULL;
}

static int seen(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    if (strstr(info->dlpi_name, "linux-vdso")) (*(int *)arg)++;
    return 0;
}

static void tick(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)info;
    uintptr_t pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    ticks++;
    if (pc - (uintptr_t)image >= 8192 || unwound > 2) return;
    void *frames[32];
    inside++;
    if (backtrace(frames, 32) > 3) unwound++;
}

int main(void) {
    image = (const void *)getauxval(AT_SYSINFO_EHDR);
    printf("present %d\n", image != NULL && memcmp(image->e_ident, ELFMAG, SELFMAG) == 0);
    if (!image) return 0;
    int count = 0;
    dl_iterate_phdr(seen, &count);
    int (*gettime)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))symbol("__vdso_clock_gettime");
    time_t (*seconds)(time_t *) = (time_t (*)(time_t *))symbol("__vdso_time");
    int (*getcpu_)(unsigned *, unsigned *, void *) = (int (*)(unsigned *, unsigned *, void *))symbol("__vdso_getcpu");
    printf("object %d, symbols %d\n", count, gettime && seconds && getcpu_);
    struct timespec a, b, c;
    long bad = 0;
    for (int i = 0; i < 1000; i++) {
        clock_gettime(CLOCK_MONOTONIC, &a);
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &b);
        gettime(CLOCK_MONOTONIC, &c);
        bad += a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
        bad += b.tv_sec > c.tv_sec || (b.tv_sec == c.tv_sec && b.tv_nsec > c.tv_nsec);
    }
    printf("out of order %ld, time %d\n", bad, labs(seconds(NULL) - time(NULL)) < 2);
    unsigned cpu = ~0u;
    int got = getcpu_(&cpu, NULL, NULL);
    printf("getcpu %d %d\n", got, cpu < 4096);
    fflush(stdout);
    void *warm[4];
    backtrace(warm, 4);
    struct sigaction action = {.sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 700}, {0, 700}};
    setitimer(ITIMER_REAL, &every, NULL);
    for (long i = 0; i < 40000000 && unwound < 3; i++) gettime(CLOCK_MONOTONIC, &a);
    every = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, NULL);
    printf("handler inside %d, unwound %d\n", inside >= 3, unwound >= 3);
    if (fork() == 0) {
        printf("child %d\n", gettime(CLOCK_REALTIME, &a));
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    return 0;
}
