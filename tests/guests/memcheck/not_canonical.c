/* A pointer overwritten with text. */
#include <string.h>

struct record {
    char name[8];
    long *value;
};

__attribute__((noinline)) static void set(struct record *r) { *r->value = 1; }

int main(void) {
    struct record r;
    memcpy(&r, "a long name, too", sizeof r);
    set(&r);
    return 0;
}
