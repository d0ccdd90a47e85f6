/* What the process's pages are, by status and statm and by the sums over smaps. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 50

static char text[1 << 20];

static char *slurp(const char *path) {
    int fd = open(path, O_RDONLY);
    size_t n = 0;
    ssize_t r;
    while ((r = read(fd, text + n, sizeof text - 1 - n)) > 0) n += (size_t)r;
    text[n] = 0;
    close(fd);
    return text;
}

static long field(const char *path, const char *key) { return atol(strstr(slurp(path), key) + strlen(key)); }

static long sum(const char *key) {
    long total = 0;
    for (const char *p = slurp("/proc/self/smaps"); (p = strstr(p, key)); p += strlen(key)) total += atol(p + strlen(key));
    return total;
}

/* Where mappings with other rights are one of the kernel's, smaps shares its pages out, rounded. */
static int near(long one, long other) { return labs(one - other) <= 16; }

static char *map(int flags, int fd, int touched) {
    char *p = mmap(0, PAGES * 4096, PROT_READ | PROT_WRITE, flags, fd, 0);
    for (int i = 0; i < touched; i++) p[i * 4096] = 1;
    return p;
}

static void facts(const char *when) {
    printf("%s: ", when);
    for (int i = 0; i < 2; i++) { /* what that takes is there from then on */
        sum("\nRss:");
        field("/proc/self/status", "VmRSS:");
    }
    long rss = sum("\nRss:"), anon = sum("\nAnonymous:"), by_status = field("/proc/self/status", "VmRSS:");
    long parts = field("/proc/self/status", "RssAnon:") + field("/proc/self/status", "RssFile:") +
                 field("/proc/self/status", "RssShmem:");
    long by_statm = field("/proc/self/statm", " ") * 4, anon_by_status = field("/proc/self/status", "RssAnon:");
    printf("status %d, statm %d, ", near(by_status, rss), near(by_statm, rss));
    printf("anonymous %d, parts %d, enough %d\n", near(anon_by_status, anon), parts == by_status, rss > 1024 + 4 * (7 + 11 + 13 + 20 + 200));
    fflush(stdout);
}

int main(void) {
    static volatile char sink;
    char path[] = "/tmp/usage-XXXXXX";
    int file = mkstemp(path);
    unlink(path);
    if (ftruncate(file, PAGES * 4096)) return 1;
    memset(text, 1, sizeof text);
    map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 7);
    char *read_only = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < PAGES; i++) sink = read_only[i * 4096]; /* the page of zeros is nobody's */
    map(MAP_SHARED | MAP_ANONYMOUS, -1, 11);
    map(MAP_SHARED, file, 13);
    char *copied = map(MAP_PRIVATE, file, 5);
    for (int i = 0; i < 20; i++) sink = copied[i * 4096];
    char *gaps = mmap(0, 400 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 400; i += 2) gaps[i * 4096] = 1; /* more stretches than are asked for at a time */
    facts("small pages");
    char *huge = aligned_alloc(1 << 21, 1 << 21);
    madvise(huge, 1 << 21, MADV_HUGEPAGE);
    sink = huge[0]; /* zeros, which may be a huge page, too */
    facts("huge zeros");
    huge[0] = 1;
    facts("huge page");
    return sink;
}
