/* modes: none trace-children */
/* Programs that the kernel refuses to execute: the call fails, and the process that made it goes on. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned char image[1 << 20];
static long size;
static char name[] = "/tmp/refused-XXXXXX";
extern char **environ;

static void attempt(const char *what, const unsigned char *bytes, long n) {
    unlink(name);
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0755);
    if (write(fd, bytes, n) != n) abort();
    close(fd);
    for (int vforks = 0; vforks < 2; vforks++) {
        pid_t child = vforks ? vfork() : fork();
        if (child == 0) {
            char *argv[] = {name, NULL};
            execve(name, argv, environ);
            _exit(errno);
        }
        int status;
        waitpid(child, &status, 0);
        printf("%s: %s\n", what, WIFSIGNALED(status) ? "a signal" : strerror(WEXITSTATUS(status)));
    }
}

#define WITH(what, change)                   \
    do {                                     \
        static unsigned char copy[1 << 20];  \
        memcpy(copy, image, size);           \
        Elf64_Ehdr *eh = (Elf64_Ehdr *)copy; \
        change;                              \
        attempt(what, copy, size);           \
    } while (0)

static char *interpreter(unsigned char *copy) {
    Elf64_Ehdr *eh = (Elf64_Ehdr *)copy;
    Elf64_Phdr *ph = (Elf64_Phdr *)(copy + eh->e_phoff);
    while (ph->p_type != PT_INTERP) ph++;
    return (char *)copy + ph->p_offset;
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    close(mkstemp(name));
    int fd = open("/bin/true", O_RDONLY);
    size = read(fd, image, sizeof image);
    close(fd);

    WITH("as it is", (void)eh);
    WITH("an object file", eh->e_type = ET_REL);
    WITH("a core dump", eh->e_type = ET_CORE);
    WITH("no program headers", eh->e_phnum = 0);
    WITH("headers of one byte", eh->e_phentsize = 1);
    WITH("headers beyond the end", eh->e_phoff = size - 56);
    WITH("headers far beyond the end", eh->e_phoff = 0x7fffffffffffffff);
    WITH("for arm", eh->e_machine = EM_AARCH64);
    WITH("no interpreter", (void)eh; strcpy(interpreter(copy), "/no/such"));
    WITH("an interpreter that is a folder", (void)eh; strcpy(interpreter(copy), "/tmp"));
    WITH("an interpreter that may not be executed", (void)eh; strcpy(interpreter(copy), "/etc/passwd"));
    WITH("an interpreter that is a script", (void)eh; strcpy(interpreter(copy), "/usr/bin/ldd"));
    WITH("an interpreter without an end", (void)eh; memset(interpreter(copy), 'x', 28));
    attempt("half a header", image, 30);
    attempt("a header alone", image, 64);
    attempt("a name alone", (const unsigned char *)"#!/no/such\n", 11);
    unlink(name);
    return 0;
}
