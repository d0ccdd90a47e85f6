/* Files of /proc/self read by every path and every call: facts that are the same natively and here. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char buf[1 << 22];
static int data = 5;

static char *slurp_fd(int fd) {
    size_t n = 0;
    ssize_t r;
    while ((r = read(fd, buf + n, sizeof buf - 1 - n)) > 0) n += (size_t)r;
    buf[n] = 0;
    return buf;
}

static char *slurp(const char *path) {
    int fd = open(path, O_RDONLY);
    if (fd < 0) return strcpy(buf, strerror(errno));
    slurp_fd(fd);
    close(fd);
    return buf;
}

static long field(const char *text, const char *key) {
    const char *at = strstr(text, key);
    return at ? atol(at + strlen(key)) : -1;
}

/* The program's own mappings and nobody else's. */
static const char *whose(const char *text) {
    return strstr(text, "interpose") || strstr(text, "memfd:") ? "ours too" : strstr(text, "procfs") ? "own" : text;
}

static const char *link_of(const char *path) {
    static char target[4096];
    ssize_t n = readlink(path, target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
    return target;
}

static void sizes(void) {
    long kb, pages[7];
    char *t = slurp("/proc/self/status");
    static const char *const keys[] = {"VmPeak:",  "VmSize:",  "VmLck:",   "VmRSS:", "VmHWM:",   "RssAnon:", "RssFile:",
                                       "RssShmem:", "VmData:", "VmStk:", "VmExe:", "VmLib:", "VmSwap:", "FDSize:", "Threads:"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        long v = field(t, keys[i]);
        printf("%s %s\n", keys[i], v < 0 ? "none" : v == 0 ? "0" : v < 1 << 14 ? "small" : "large");
    }
    kb = field(slurp("/proc/self/status"), "VmSize:");
    sscanf(slurp("/proc/self/statm"), "%ld %ld %ld %ld %ld %ld %ld", pages, pages + 1, pages + 2, pages + 3, pages + 4,
           pages + 5, pages + 6);
    printf("statm: as status %d, resident %d, shared %d, text %d, data %d\n", labs(kb - pages[0] * 4) < 64,
           pages[1] > 100 && pages[1] < 4096, pages[2] <= pages[1], pages[3] < 256, pages[5] < 4096);
    t = slurp("/proc/self/smaps_rollup");
    printf("rollup: %d %d %d %d\n", strstr(t, "[rollup]") != NULL, field(t, "\nRss:") < 16384, field(t, "\nPss:") > 0,
           field(t, "\nPss_Anon:") >= 0);
    unsigned long s[53] = {0};
    char *q = strrchr(slurp("/proc/self/stat"), ')') + 3;
    for (int i = 4; i <= 52; i++) s[i] = strtoul(q + (i == 4), &q, 10);
    printf("stat: threads %lu, size %d, resident %d, code %d, stack %d, data %d\n", s[20], s[23] < 64 << 20, s[24] < 4096,
           (uintptr_t)&sizes >= s[26] && (uintptr_t)&sizes < s[27], s[28] - (uintptr_t)&s < 1 << 20,
           (uintptr_t)&data >= s[45] && (uintptr_t)&data < s[46] + 4096);
    /* A descriptor kept open shows what is true now. */
    int fd = open("/proc/self/statm", O_RDONLY), copy = dup(fd);
    long before = atol(slurp_fd(fd));
    char *big = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(big, 1, 16 << 20);
    char text[256] = "";
    pread(copy, text, sizeof text - 1, 0);
    long now = atol(text), resident = atol(strchr(text, ' '));
    printf("64 MB more: %d, 16 resident: %d, position untouched: %d\n", now - before >= 16384, resident >= 4096,
           lseek(fd, 0, SEEK_CUR) > 8);
    munmap(big, 64 << 20);
    slurp("/proc/self/status");
    printf("peak kept: %d\n", field(buf, "VmPeak:") - field(buf, "VmSize:") >= 60000);
    printf("peak resident kept: %d\n", field(buf, "VmHWM:") - field(buf, "VmRSS:") >= 12000);
}

static void names(void) {
    char path[100];
    static const char *const maps[] = {"/proc/self/maps",       "/proc/self/smaps", "/proc/self/numa_maps", "/proc//self///maps",
                                       "/proc/self/../self/maps", "/proc/thread-self/maps", "link", "folder/maps"};
    symlink("/proc/self/maps", "link");
    symlink("/proc/self", "folder");
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) printf("%s: %s\n", maps[i], whose(slurp(maps[i])));
    printf("folder/exe: %s\n", link_of("folder/exe"));
    struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_NO_SYMLINKS};
    sprintf(path, "/proc/%d/maps", getpid());
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    printf("openat2: %s\n", fd < 0 ? strerror(errno) : whose(slurp_fd(fd)));
    char here[4096];
    getcwd(here, sizeof here);
    chdir("/proc/self");
    printf("./maps: %s, exe: %s\n", whose(slurp("./maps")), link_of("exe"));
    chdir("/proc");
    printf("self/maps: %s, self/exe: %s\n", whose(slurp("self/maps")), link_of("self/exe"));
    chdir(here);
    unlink("link");
    unlink("folder");
    int at = open("/proc/self/exe", O_PATH | O_NOFOLLOW);
    ssize_t n = readlinkat(at, "", path, 99);
    printf("the link itself: %zd %d\n", n, strncmp(path, here, n > 99 ? 99 : strlen(here)) == 0);
    fd = open("/proc/self/exe", O_RDONLY);
    sprintf(path, "/proc/self/fd/%d", fd);
    printf("opened: %s\n", link_of(path));
    printf("canonical: %s\n", canonicalize_file_name("/proc/self/exe"));
    printf("write to it: %d\n", open("/proc/self/exe", O_WRONLY) < 0 && errno == ETXTBSY);
    struct stat a, b;
    printf("same file: %d\n", fstat(fd, &a) == 0 && stat("/proc/self/exe", &b) == 0 && a.st_ino == b.st_ino);
}

static void folders(void) {
    static const char *const all[] = {"/proc/self/fd", "/proc/self/fdinfo", "/proc/thread-self/fd", "/proc/self/task"};
    for (int i = 0; i < 4; i++) {
        DIR *d = opendir(all[i]);
        int n = 0;
        for (struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
        closedir(d);
        printf("%s: %d\n", all[i], n);
    }
    DIR *d = opendir("/proc/self/map_files");
    int own = 0, others = 0;
    char path[400];
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/map_files/%s", e->d_name);
        if (e->d_name[0] == '.') continue;
        if (strcmp(whose(link_of(path)), "ours too") == 0) others++;
        else own++;
    }
    if (d) closedir(d);
    printf("map_files: %d, %d\n", d == NULL || own > 3, others);
    char *t = slurp("/proc/self/limits");
    struct rlimit as = {1ul << 40, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &as);
    t = strstr(slurp("/proc/self/limits"), "Max address space");
    printf("%.*s\n", (int)strcspn(t, "\n"), t);
}

static void calls(void) {
    char head[3][40] = {{0}};
    int fd = open("/proc/self/maps", O_RDONLY);
    struct stat st;
    fstat(fd, &st);
    struct iovec v[2] = {{head[0], 10}, {head[1], 10}};
    printf("maps: size %ld, mode %o, readv %zd", (long)st.st_size, st.st_mode, readv(fd, v, 2));
    printf(", preadv %zd", preadv(fd, &(struct iovec){head[2], 10}, 1, 0));
    printf(" %d", memcmp(head[0], head[2], 10));
    pread(fd, head[2], 10, 10);
    printf(" %d, seek %ld", memcmp(head[1], head[2], 10), (long)lseek(fd, 10, SEEK_SET));
    memset(head[2], 0, 10);
    printf(", read %zd", read(fd, head[2], 10));
    printf(" %d, write %zd", memcmp(head[1], head[2], 10), write(fd, "x", 1));
    printf(" %d", errno);
    void *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    printf(", mmap %d %d\n", mapped == MAP_FAILED, errno);
    char text[100];
    sprintf(text, "/proc/self/fd/%d", fd);
    const char *name = strrchr(link_of(text), '/');
    printf("its name: %s\n", name);
    /* In pieces, while mappings come: no line is torn. */
    lseek(fd, 0, SEEK_SET);
    size_t n = 0;
    for (ssize_t r; (r = read(fd, buf + n, 100)) > 0; n += (size_t)r) mmap(NULL, 4096, n % 3 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    buf[n] = 0;
    int torn = 0;
    for (char *line = strtok(buf, "\n"); line; line = strtok(NULL, "\n")) {
        unsigned long lo, hi;
        char perms[8];
        torn += sscanf(line, "%lx-%lx %7s", &lo, &hi, perms) != 3 || lo >= hi || strlen(perms) != 4;
    }
    printf("torn lines: %d\n", torn);
    printf("access: %d, stat: %d %o\n", access("/proc/self/exe", X_OK), stat("/proc/self/maps", &st), st.st_mode);
    int in = open("/proc/self/maps", O_RDONLY), out = memfd_create("copy", 0);
    if (sendfile(out, in, NULL, 1 << 20) < 0) write(out, buf, strlen(slurp_fd(in)));
    lseek(out, 0, SEEK_SET);
    printf("copied: %s\n", whose(slurp_fd(out)));
}

static void memory(void) {
    uint64_t entry = 0;
    int fd = open("/proc/self/pagemap", O_RDONLY), v = 0;
    data = 6;
    pread(fd, &entry, 8, (off_t)((uintptr_t)&data / 4096 * 8));
    printf("pagemap: %d\n", (int)(entry >> 63));
    unsigned char vec[4];
    char *m = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m[0] = m[8192] = 1;
    int r = mincore(m, 16384, vec);
    printf("mincore: %d %d%d%d%d", r, vec[0] & 1, vec[1] & 1, vec[2] & 1, vec[3] & 1);
    r = mincore((void *)0x5e000000, 4096, vec);
    printf(", of no memory %d %d", r, errno);
    r = mincore((void *)0x7c100000, 4096, vec);
    printf(", %d %d", r, errno);
    r = mincore(m + 1, 4096, vec);
    printf(", odd %d %d\n", r, errno);
    fd = open("/proc/self/mem", O_RDWR);
    r = (int)pread(fd, &v, 4, (off_t)(uintptr_t)&data);
    printf("mem: %d %d", r, v);
    v = 77;
    r = (int)pwrite(fd, &v, 4, (off_t)(uintptr_t)&data);
    printf(", written %d %d\n", r, *(volatile int *)&data);
    static const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* mov eax, 42; ret */
    char *c = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(c, code, sizeof code);
    mprotect(c, 4096, PROT_READ | PROT_EXEC);
    int (*f)(void) = (int (*)(void))(void *)c;
    unsigned char next = 43;
    printf("code: %d", f());
    pwrite(fd, &next, 1, (off_t)(uintptr_t)(c + 1));
    printf(" %d", f());
    mprotect(c, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    next = 44;
    f();
    struct iovec from = {&next, 1}, to = {c + 1, 1};
    process_vm_writev(getpid(), &from, 1, &to, 1, 0);
    printf(" %d\n", f());
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    sizes();
    names();
    folders();
    calls();
    memory();
    return 0;
}
