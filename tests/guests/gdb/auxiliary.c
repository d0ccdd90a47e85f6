#include <stdlib.h>
int f(void) { return 0; }
/* Not getenv itself: glibc's dynamic linker may have one, too, of an environment of its own. */
char *get(const char *name) { return getenv(name); }
int main(int argc, char **argv) { setenv("OWN", "value", 1); f(); return argc - 1; }
