/* What goes into the environment is looked at where it is given, though the C library only copies it.
 * @options: -q
 * @arguments: x */
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    char *undefined = malloc(8), *short_one = malloc(4), *freed = malloc(4), local[8];
    memcpy(undefined, "ab", 2);
    undefined[3] = 0;
    memset(short_one, 'a', 4);
    strcpy(freed, "A=b");
    setenv(undefined, "x", 1);
    setenv("NAME", undefined, 1);
    unsetenv(undefined);
    setenv("NAME", short_one, 1);
    unsetenv(short_one);
    local[0] = 'L';
    local[1] = '=';
    local[3] = 0;
    putenv(local); /* only its address is kept */
    free(freed);
    setenv("OTHER", freed, 1);
    setenv(0, "x", 1);
    return setenv("", "x", 1) + unsetenv("A=B") + setenv("NAME", argv[argc - 1], 0) + 2;
}
