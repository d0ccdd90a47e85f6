/* Files that change while and between they are loaded.  What its arguments say, from left to right:
 *   +FILE       dlopen, which is the library for "call" from then on
 *   -           dlclose it
 *   fd:FILE     open FILE, delete it, and dlopen it by its descriptor
 *   memfd:FILE  the same for a copy in memory
 *   FUNCTION    call the library's function of that name, which calls back
 *   mv:A:B      rename A to B
 *   cp:A:B      write the contents of A into the file B, which stays the file that it is
 *   cut:FILE:N  truncate FILE by its last N bytes
 *   rm:FILE     delete FILE */
#define _GNU_SOURCE
#include "header.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static __attribute__((noipa)) void called_back(void) { (void)VALGRIND_PRINTF_BACKTRACE("in the library\n"); }

static void copy(const char *from, int to) {
    static char buffer[1 << 20];
    int fd = open(from, O_RDONLY);
    long n = read(fd, buffer, sizeof buffer);
    if (n < 0 || write(to, buffer, (size_t)n) != n || close(fd) != 0) exit(2);
}

static void *by_descriptor(int fd) {
    char name[40];
    sprintf(name, "/proc/self/fd/%d", fd);
    void *handle = dlopen(name, RTLD_NOW);
    close(fd);
    return handle;
}

int main(int argc, char **argv) {
    void *handle = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        char *word = strtok(argv[i], ":"), *from = strtok(NULL, ":"), *to = strtok(NULL, ":");
        if (*word == '-') {
            dlclose(handle);
        } else if (*word == '+') {
            handle = dlopen(word + 1, RTLD_NOW);
        } else if (!strcmp(word, "mv")) {
            if (rename(from, to) != 0) exit(2);
        } else if (!strcmp(word, "cp")) {
            int fd = open(to, O_WRONLY | O_TRUNC);
            copy(from, fd);
            close(fd);
        } else if (!strcmp(word, "cut")) {
            struct stat st;
            if (stat(from, &st) != 0 || truncate(from, st.st_size - atoi(to)) != 0) exit(2);
        } else if (!strcmp(word, "rm")) {
            if (unlink(from) != 0) exit(2);
        } else if (!strcmp(word, "fd")) {
            int fd = open(from, O_RDONLY);
            unlink(from);
            handle = by_descriptor(fd);
        } else if (!strcmp(word, "memfd")) {
            int fd = memfd_create("library", 0);
            copy(from, fd);
            handle = by_descriptor(fd);
        } else {
            int (*f)(int, void (*)(void)) = (int (*)(int, void (*)(void)))dlsym(handle, word);
            printf("%d\n", f(4, called_back));
        }
        if (handle == NULL) return printf("%s\n", dlerror()), 1;
    }
    return 0;
}
