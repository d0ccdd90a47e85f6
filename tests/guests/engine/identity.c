/* argv, environ, auxv, /proc/self/exe, comm, cmdline, program_invocation_name, dl_iterate_phdr, maps. */
// modes: default tiny-cache evict no-chaining single-step no-optimise far-images trace-children
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>
extern char **environ;
static int count;
static int each(struct dl_phdr_info *i, size_t n, void *d) {
    (void)n, (void)d;
    const char *base = strrchr(i->dlpi_name, '/');
    if (!strstr(i->dlpi_name, "vdso")) printf("object %s\n", base ? base + 1 : i->dlpi_name);
    count++;
    return 0;
}
int main(int argc, char **argv) {
    char buf[PATH_MAX], real[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", buf, sizeof buf - 1);
    buf[n > 0 ? n : 0] = 0;
    printf("exe is argv[0] %d\n", realpath(argv[0], real) && !strcmp(real, buf));
    FILE *f = fopen("/proc/self/comm", "r");
    if (f && fgets(buf, sizeof buf, f)) printf("comm %s", buf);
    char name[16];
    prctl(PR_GET_NAME, name);
    printf("name %s short %s\n", name, program_invocation_short_name);
    int fd = open("/proc/self/cmdline", O_RDONLY);
    n = read(fd, buf, sizeof buf);
    printf("cmdline is argv %d\n", n > 0 && !strcmp(buf, argv[0]));
    fd = open("/proc/self/exe", O_RDONLY);
    n = read(fd, buf, 4);
    printf("exe opens %d, argc %d\n", n == 4 && !memcmp(buf, "\177ELF", 4), argc);
    printf("execfn %d\n", !strcmp((char *)getauxval(AT_EXECFN), argv[0]));
    printf("page %lu uid %d secure %lu random %d platform %s\n", getauxval(AT_PAGESZ), getauxval(AT_UID) == getuid(),
           getauxval(AT_SECURE), getauxval(AT_RANDOM) != 0, (char *)getauxval(AT_PLATFORM));
    printf("phdr %d entry %d\n", getauxval(AT_PHDR) != 0, getauxval(AT_ENTRY) != 0);
    int e = 0;
    for (char **p = environ; *p; p++) e++;
    fd = open("/proc/self/environ", O_RDONLY);
    int m = 0;
    while ((n = read(fd, buf, sizeof buf)) > 0)
        for (ssize_t i = 0; i < n; i++) m += buf[i] == 0;
    printf("environ the same %d\n", e == m);
    dl_iterate_phdr(each, 0);
    f = fopen("/proc/self/maps", "r");
    int mine = 0, stack = 0, heap = 0, ours = 0;
    free(malloc(100));
    realpath(argv[0], real);
    while (fgets(buf, sizeof buf, f)) {
        mine += strstr(buf, real) != 0;
        stack += strstr(buf, "[stack]") != 0;
        heap += strstr(buf, "[heap]") != 0;
        ours += strstr(buf, "interpose") != 0;
    }
    printf("maps: program %d stack %d heap %d\n", mine > 1, stack, heap);
    return 0;
}
