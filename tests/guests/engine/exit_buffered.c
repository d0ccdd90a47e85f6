/* _exit leaves what stdio holds unwritten, and files where they are read. */
// modes: default memcheck tracking
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    FILE *f = tmpfile();
    fprintf(f, "one\ntwo\nthree\n");
    rewind(f);
    printf("once\n");
    if (!fork()) {
        fgetc(f);
        _exit(0);
    }
    wait(NULL);
    long after = lseek(fileno(f), 0, SEEK_CUR);
    if (!fork()) {
        printf("the child's\n");
        _exit(0);
    }
    wait(NULL);
    printf("position %ld\n", after);
    return 0;
}
