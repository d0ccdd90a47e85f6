/* What _FORTIFY_SOURCE calls: a copy that fits, and one that does not, of each kind; the latter ends the process.
 * @options: -q
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *__memcpy_chk(void *, const void *, size_t, size_t);
char *__strcpy_chk(char *, const char *, size_t);
char *__stpcpy_chk(char *, const char *, size_t);
enum { KINDS = 4, ROOM = 8 };

static void copy(int kind, char *to, const char *from, size_t n) {
    switch (kind) {
    case 0: __memcpy_chk(to, from, n, ROOM); break;
    case 1: __strcpy_chk(to, from, ROOM); break;
    case 2: printf("%td\n", __stpcpy_chk(to, from, ROOM) - to); break;
    /* Overlapping, it never finds an end, but the room has one. */
    default: strcpy(to, from), __strcpy_chk(to + 1, to, ROOM - 1);
    }
}

int main(void) {
    setbuf(stdout, NULL);
    for (int kind = 0; kind < KINDS; kind++) {
        char *to = malloc(ROOM);
        if (kind < KINDS - 1) copy(kind, to, "1234567", ROOM);
        pid_t child = fork();
        if (child == 0) {
            copy(kind, to, kind < KINDS - 1 ? "12345678" : "1234567", ROOM + 1);
            printf("not ended\n");
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        printf("%x %s\n", status, kind < KINDS - 1 ? to : "");
        free(to);
    }
    return 0;
}
