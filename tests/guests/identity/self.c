/* What a process can learn about itself: the same natively and here.  Prints facts, not addresses. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;
static int data_word = 7;
static char big[1 << 20];

static char *slurp(const char *path, size_t *len) {
    static char buf[1 << 20];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ssize_t r;
    if (fd < 0) {
        printf("%s: %s\n", path, strerror(errno));
        exit(1);
    }
    while ((r = read(fd, buf + n, sizeof buf - 1 - n)) > 0) n += (size_t)r;
    close(fd);
    buf[n] = 0;
    if (len) *len = n;
    return buf;
}

/* "perms name" of the line of a maps file that holds an address. */
static void show_map(const char *file, const char *what, const void *at) {
    char *text = slurp(file, NULL), *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        unsigned long lo, hi;
        char perms[8], path[4096] = "";
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095[^\n]", &lo, &hi, perms, path) < 3) continue;
        if ((uintptr_t)at < lo || (uintptr_t)at >= hi) continue;
        char *base = strrchr(path, '/');
        printf("%s: %s %s\n", what, perms, base ? base + 1 : path);
        return;
    }
    printf("%s: not in %s\n", what, file);
}

static void show_maps(void) {
    char spelled[64];
    void *anon = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect((char *)anon + 4096, 4096, PROT_NONE);
    const char *files[] = {"/proc/self/maps", "/proc/thread-self/maps", "/proc/self/smaps", spelled};
    for (int i = 0; i < 4; i++) {
        if (i == 3) sprintf(spelled, "/proc/%d/task/%d/maps", getpid(), gettid());
        show_map(files[i], "code", (void *)(uintptr_t)&show_maps);
        show_map(files[i], "data", &data_word);
        show_map(files[i], "bss", &big[sizeof big / 2]);
        show_map(files[i], "libc code", (void *)(uintptr_t)&puts);
        show_map(files[i], "stack", &i);
        show_map(files[i], "anonymous", anon);
        show_map(files[i], "protected", (char *)anon + 4096);
        show_map(files[i], "own code", code);
    }
    sbrk(8192);
    show_map("/proc/self/maps", "heap", (char *)sbrk(0) - 1);
    int dir = open("/proc/self", O_RDONLY | O_DIRECTORY), fd = openat(dir, "maps", O_RDONLY);
    char head[16] = "";
    printf("relative: %d\n", read(fd, head, 8) == 8 && strchr("0123456789abcdef", head[0]) != NULL);
    close(fd);
    close(dir);
    char *text = slurp("/proc/self/maps", NULL);
    printf("of others: %s\n", strstr(text, "interpose") ? text : "nothing");
}

static void show_smaps(void) {
    char *text = slurp("/proc/self/smaps", NULL), *at = strstr(text, "[stack]");
    unsigned long rss = 0;
    char *line = at ? strstr(at, "\nRss:") : NULL;
    if (line) sscanf(line, "\nRss: %lu kB", &rss);
    line = at ? strstr(at, "\nVmFlags:") : NULL;
    printf("smaps of the stack: resident %d, flags %.15s\n", rss > 0, line ? line + 1 : "none");
}

static void show_words(const char *path) {
    size_t n;
    char *text = slurp(path, &n);
    printf("%s:", path);
    for (size_t at = 0; at < n; at += strlen(text + at) + 1)
        if (strncmp(text + at, "_=", 2)) printf(" [%s]", text + at);
    puts("");
}

static int phdr_seen(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    int *count = arg;
    uintptr_t here = (uintptr_t)&phdr_seen;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t lo = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && here >= lo && here < lo + p->p_memsz) *count += 100;
    }
    ++*count;
    return 0;
}

__attribute__((noinline)) static int deep(int n, void **frames) {
    if (n == 0) return backtrace(frames, 64);
    int r = deep(n - 1, frames);
    __asm__ volatile("" : "+r"(r));
    return r;
}

static void on_usr1(int sig) {
    void *frames[64];
    int n = backtrace(frames, 64);
    printf("backtrace in a handler: %d\n", n > 4 && sig == SIGUSR1);
}

static void show_fds(void) {
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;
    int n = 0, high = 0;
    while ((e = readdir(d)))
        if (e->d_name[0] != '.') {
            n++;
            if (atoi(e->d_name) > 100) high++;
        }
    closedir(d);
    printf("descriptors: %d high\n", high);
}

static void show_status(void) {
    char *text = slurp("/proc/self/status", NULL), *line;
    unsigned long kb = 0, mask = 0;
    signal(SIGHUP, SIG_IGN);
    text = slurp("/proc/self/status", NULL);
    if ((line = strstr(text, "VmSize:"))) sscanf(line, "VmSize: %lu kB", &kb);
    printf("address space below 64 MB: %d\n", kb > 0 && kb < 65536);
    for (const char **n = (const char *[]){"SigBlk:", "SigIgn:", "SigCgt:", NULL}; *n; n++)
        if ((line = strstr(text, *n)) && sscanf(line + 7, "%lx", &mask) == 1) printf("%s %lx\n", *n, mask);
    if ((line = strstr(text, "Name:"))) printf("%.*s\n", (int)strcspn(line, "\n"), line);
}

int main(int argc, char **argv) {
    char path[4096], name[32] = "", link_name[64];
    struct stat a, b;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("argc %d, %s, %s\n", argc, program_invocation_name, program_invocation_short_name);
    sprintf(link_name, "/proc/%d/exe", getpid());
    const char *exes[] = {"/proc/self/exe", "/proc/thread-self/exe", link_name};
    for (int i = 0; i < 3; i++) {
        ssize_t n = readlink(exes[i], path, sizeof path - 1);
        path[n > 0 ? n : 0] = 0;
        printf("exe %s, same file %d\n", path, stat(exes[i], &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino);
    }
    printf("realpath %s\n", realpath("/proc/self/exe", path));
    show_words("/proc/self/cmdline");
    show_words("/proc/self/environ");
    show_maps();
    show_smaps();
    prctl(PR_GET_NAME, name);
    printf("comm %s, %s", name, slurp("/proc/self/comm", NULL));
    prctl(PR_SET_NAME, "renamed");
    printf("comm %s", slurp("/proc/self/comm", NULL));
    size_t n;
    ElfW(auxv_t) *aux = (ElfW(auxv_t) *)slurp("/proc/self/auxv", &n);
    int equal = 1, seen = 0;
    for (; aux->a_type != AT_NULL; aux++, seen++) equal &= getauxval(aux->a_type) == aux->a_un.a_val;
    printf("auxv: equal %d, many %d, ends %d\n", equal, seen > 12, aux->a_type == AT_NULL);
    printf("features: %lx %lx, %ld ticks, pages of %ld\n", getauxval(AT_HWCAP), getauxval(AT_HWCAP2),
           getauxval(AT_CLKTCK), getauxval(AT_PAGESZ));
    ElfW(Ehdr) *eh = (void *)(getauxval(AT_PHDR) & ~0xfffull);
    printf("AT_PHDR in an ELF file: %d, AT_ENTRY: %d, AT_EXECFN %s, AT_SECURE %ld, uid %d\n",
           memcmp(eh->e_ident, ELFMAG, 4) == 0, getauxval(AT_ENTRY) - (uintptr_t)eh == eh->e_entry,
           (char *)getauxval(AT_EXECFN), (long)getauxval(AT_SECURE), getauxval(AT_UID) == getuid());
    int count = 0;
    dl_iterate_phdr(phdr_seen, &count);
    printf("objects: own %d, all %d\n", count / 100, count % 100 >= 3);
    Dl_info info;
    printf("dladdr %d\n", dladdr((void *)(uintptr_t)&puts, &info) && strstr(info.dli_fname, "libc.so") != NULL);
    void *frames[64];
    int f = deep(10, frames);
    printf("backtrace: %d\n", f);
    signal(SIGUSR1, on_usr1);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    pthread_attr_t at;
    void *stack;
    size_t size;
    pthread_getattr_np(pthread_self(), &at);
    pthread_attr_getstack(&at, &stack, &size);
    printf("stack: %d\n", (char *)&at > (char *)stack && (char *)&at < (char *)stack + size);
    show_fds();
    show_status();
    argv[0][0] = 'X';
    show_words("/proc/self/cmdline");
    char command[200];
    fflush(stdout);
    sprintf(command, "tr '\\0' ' ' </proc/%d/cmdline; cat /proc/%d/comm; ps -o comm=,args= -p %d", getpid(), getpid(), getpid());
    return system(command);
}
