/* The environment as it should be used.  @options: -q */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>
int main(void) {
    static char both[] = "AB=CD";
    setenv("X", "y", 1);
    setenv("X", "z", 0);
    putenv(both);
    int bad = strcmp(getenv("X"), "y") || strcmp(getenv("AB"), "CD");
    unsetenv("X");
    putenv("AB");
    return bad || getenv("X") || getenv("AB");
}
