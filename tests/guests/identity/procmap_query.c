/* PROCMAP_QUERY: what the kernel says of single mappings (linux/fs.h), facts that are the same natively and here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

struct query {
    uint64_t size, flags, addr, start, end, vma_flags, page_size, offset, inode;
    uint32_t major, minor, name_size, build_id_size;
    uint64_t name, build_id;
};
#define QUERY _IOWR('f', 17, struct query)
enum { R = 1, W = 2, X = 4, SHARED = 8, NEXT = 0x10, FILES = 0x20 };

static int fd, data = 5;
static char name[4096];
static unsigned char id[64];

static struct query ask(uint64_t addr, uint64_t flags, const char *what) {
    struct query q = {.size = sizeof q, .flags = flags, .addr = addr};
    q.name_size = sizeof name, q.name = (uintptr_t)name;
    q.build_id_size = sizeof id, q.build_id = (uintptr_t)id;
    strcpy(name, "(none)");
    int r = ioctl(fd, QUERY, &q);
    const char *base = strrchr(name, '/');
    printf("%s: %s", what, r ? strerror(errno) : "");
    if (r == 0) {
        printf("flags %llx page %llu offset %llx inode %d device %d build id %u %s", (unsigned long long)q.vma_flags,
               (unsigned long long)q.page_size, (unsigned long long)q.offset, q.inode != 0, q.major || q.minor, q.build_id_size,
               q.name_size == 0 ? "no name" : base ? base + 1 : name);
        printf("%s", q.start <= addr && addr < q.end ? " covers" : q.start > addr ? " behind" : " wrong");
    }
    puts("");
    return q;
}

/* Every line of maps, but for the vsyscall page, is what a walk finds. */
static void walk(void) {
    static char line[4200], expected[4200];
    char text[64];
    uint64_t at = 0;
    int lines = 0, same = 1;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) && !strstr(line, "[vsyscall]")) {
        struct query q = {.size = sizeof q, .flags = NEXT, .addr = at, .name_size = sizeof name, .name = (uintptr_t)name};
        name[0] = 0;
        if (ioctl(fd, QUERY, &q)) {
            same = 0;
            break;
        }
        snprintf(text, sizeof text, "%08llx-%08llx", (unsigned long long)q.start, (unsigned long long)q.end);
        int n = snprintf(expected, sizeof expected, "%s %c%c%c%c %08llx %02x:%02x %llu ", text, q.vma_flags & R ? 'r' : '-',
                         q.vma_flags & W ? 'w' : '-', q.vma_flags & X ? 'x' : '-', q.vma_flags & SHARED ? 's' : 'p',
                         (unsigned long long)q.offset, q.major, q.minor, (unsigned long long)q.inode);
        if (q.name_size) {
            while (n < 73) expected[n++] = ' ';
            strcpy(expected + n, name);
        } else
            expected[n] = 0;
        line[strcspn(line, "\n")] = 0;
        if (strcmp(line, expected) != 0 && !strstr(line, "[vdso]") && !strstr(line, "[vvar")) {
            same = 0;
            fprintf(stderr, "%s|\n%s|\n", line, expected);
        }
        at = q.end, lines++;
    }
    struct query last = {.size = sizeof last, .flags = NEXT, .addr = at};
    printf("walk: lines %d same %d end %d\n", lines > 10, same, ioctl(fd, QUERY, &last) ? errno : 0);
    fclose(maps);
}

int main(void) {
    fd = open("/proc/self/maps", O_RDONLY);
    struct query q = {.size = sizeof q};
    if (ioctl(fd, QUERY, &q) && errno == ENOTTY) {
        puts("none\nbefore\nLinux 6.11");
        return 0;
    }
    char local;
    char *heap = sbrk(4096);
    char *p = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    munmap(p + 4096, 4096);
    ask((uintptr_t)main, 0, "text");
    ask((uintptr_t)&data, 0, "data");
    ask((uintptr_t)&local, 0, "stack");
    ask((uintptr_t)heap, 0, "heap");
    ask((uintptr_t)p, 0, "page");
    ask((uintptr_t)p + 4096, 0, "hole");
    ask((uintptr_t)p + 4096, NEXT, "behind the hole");
    ask((uintptr_t)shared, 0, "shared");
    ask((uintptr_t)shared, FILES | SHARED, "shared, as a file");
    ask((uintptr_t)p, W, "page, if writable");
    ask((uintptr_t)main, X | FILES, "text, if executable");
    ask((uintptr_t)main & ~4095ull, R | NEXT | FILES, "readable file");
    ask(0, 0, "null");
    ask(~0ull, NEXT, "beyond");
    ask((uintptr_t)main, 0x40, "unknown flag");

    q = (struct query){.size = sizeof q, .addr = (uintptr_t)main, .name_size = 2, .name = (uintptr_t)name};
    printf("short name: %d\n", ioctl(fd, QUERY, &q) ? errno : 0);
    q = (struct query){.size = sizeof q, .addr = (uintptr_t)main, .build_id_size = 2, .build_id = (uintptr_t)id};
    printf("short id: %d\n", ioctl(fd, QUERY, &q) ? errno : 0);
    q = (struct query){.size = sizeof q, .addr = (uintptr_t)main, .name_size = 2};
    printf("no place for a name: %d\n", ioctl(fd, QUERY, &q) ? errno : 0);
    q = (struct query){.size = sizeof q, .addr = (uintptr_t)main, .name_size = 4096, .name = 8};
    printf("bad place for a name: %d\n", ioctl(fd, QUERY, &q) ? errno : 0);
    static char large[8192];
    const uint64_t sizes[] = {0, 8, 16, 24, 32, 40, 103, 104, 105, 4096, 4097, ~0ull};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(large, 0, sizeof large);
        struct query *l = (struct query *)large;
        l->size = sizes[i], l->addr = (uintptr_t)main;
        int r = ioctl(fd, QUERY, l);
        printf("size %lld: %d start %d flags %llx\n", (long long)sizes[i], r ? errno : 0, l->start != 0,
               (unsigned long long)l->vma_flags);
    }
    large[200] = 1;
    *(struct query *)large = (struct query){.size = 4096, .addr = (uintptr_t)main};
    printf("unknown field: %d\n", ioctl(fd, QUERY, large) ? errno : 0);
    printf("bad: %d, other file: %d\n", ioctl(fd, QUERY, (void *)8) ? errno : 0,
           ioctl(open("/proc/self/smaps", O_RDONLY), QUERY, &q) ? errno : 0);
    q = (struct query){.size = sizeof q, .addr = (uintptr_t)main};
    printf("a copy: %d\n", ioctl(dup(fd), QUERY, &q) ? errno : 0);
    walk();
    return 0;
}
