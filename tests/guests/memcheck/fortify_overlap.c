/* memmove by its checked form, before and after memcpy's has been resolved: in the C library one body is both. */
#include <stddef.h>

void *__memcpy_chk(void *, const void *, size_t, size_t);
void *__memmove_chk(void *, const void *, size_t, size_t);

enum { ROOM = 100 };
static char bytes[ROOM];

int main(int argc, char **argv) {
    (void)argv;
    size_t n = (size_t)argc + 30;
    __memmove_chk(bytes + 1, bytes, n, ROOM - 1);
    __memcpy_chk(bytes + 1, bytes + 50, n, ROOM - 1);
    __memmove_chk(bytes + 1, bytes, n, ROOM - 1);
    __memmove_chk(bytes, bytes + 1, n, ROOM);
    return 0;
}
