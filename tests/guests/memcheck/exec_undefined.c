/* execve with undefined characters in an argument, of a program that is not there. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void) {
    char *arg = malloc(4), *path = malloc(12);
    char *args[] = {"x", arg, NULL}, *none[] = {NULL};
    arg[0] = 'a';
    arg[2] = 0;
    arg[1] &= 0x7f;
    arg[1] |= 1;
    strcpy(path, "/no/program");
    execve(path, args, none);
    free(arg);
    free(path);
    return 0;
}
