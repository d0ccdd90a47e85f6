/* A library that uses functions of libc which are indirect. */
#include <string.h>
size_t length_of(const char *s) { return strlen(s); }
void *copy_of(void *to, const void *from, size_t n) { return memcpy(to, from, n); }
