/* String functions that come past a run of plain bytes: what is wrong behind it is told as if each byte had been looked
 * at by itself, and their answers are those for bytes. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

static char *volatile from, *volatile to;
static volatile size_t got;

__attribute__((noinline)) static void use(size_t n) {
    if (n == 12345) puts("no");
}

/* A string of n letters, all defined. */
static char *letters(size_t n) {
    char *s = malloc(n + 1);
    memset(s, 'a', n);
    s[n] = 0;
    return s;
}

static unsigned long v_of(const char *p) {
    unsigned char bits = 0;
    (void)VALGRIND_GET_VBITS(p, &bits, 1);
    return bits;
}

static void undefined_letter(size_t n, size_t at) {
    from = letters(n);
    to = malloc(n + 1);
    VALGRIND_MAKE_MEM_UNDEFINED(from + at, 1);
    use(strlen(from));
    use(strnlen(from, n + 1));
    use(memchr(from, 'b', n) != NULL);
    strcpy(to, from);
    printf("%lx %lx %lx\n", v_of(to + at - 1), v_of(to + at), v_of(to + at + 1));
    free(to);
    free(from);
}

static void closed_letter(size_t n, size_t at) {
    from = letters(n);
    to = malloc(n + 1);
    VALGRIND_MAKE_MEM_NOACCESS(from + at, 1);
    use(strlen(from));
    use(strnlen(from, n + 1));
    use(rawmemchr(from, 0) != NULL);
    strcpy(to, from);
    VALGRIND_MAKE_MEM_DEFINED(from + at, 1);
    VALGRIND_MAKE_MEM_NOACCESS(to + at, 1);
    strcpy(to, from);
    free(to);
    free(from);
}

static void overlap(void) {
    from = letters(600);
    strcpy(from, from + 300); /* down: as by bytes */
    printf("%zu\n", strlen(from));
    memset(from, 'a', 250);
    from[250] = 0;
    strcpy(from + 251, from);
    printf("%zu %zu\n", strlen(from), strlen(from + 251));
    free(from);
}

static void padding(void) {
    to = malloc(1000);
    strncpy(to, "abc", 1000);
    for (int i = 0; i < 1000; i++)
        if (v_of(to + i) || (i > 2 && to[i])) printf("at %d\n", i);
    VALGRIND_MAKE_MEM_NOACCESS(to + 700, 8);
    strncpy(to, "abc", 1000);
    free(to);
}

int main(void) {
    size_t wrong = 0;
    /* Ends around where a run is asked for, and around pages. */
    for (size_t n = 0; n < 9000; n += n < 300 ? 1 : n % 4096 > 4080 || n % 4096 < 20 ? 1 : 57) {
        char *s = letters(n), *d = malloc(n + 1);
        wrong += strlen(s) != n;
        wrong += strnlen(s, n + 5) != n || strnlen(s, n / 2) != n / 2;
        wrong += memchr(s, 0, n + 1) != s + n || (n && memchr(s, 'b', n));
        wrong += rawmemchr(s, 0) != s + n;
        if (n) {
            s[n - 1] = 'b';
            wrong += memchr(s, 'b', n) != s + n - 1 || rawmemchr(s, 'b') != s + n - 1;
        }
        wrong += stpcpy(d, s) != d + n || memcmp(s, d, n + 1);
        wrong += VALGRIND_CHECK_MEM_IS_DEFINED(d, n + 1) != 0;
        free(d);
        free(s);
    }
    printf("wrong %zu\n", wrong);
    undefined_letter(200, 120);
    undefined_letter(9000, 5000);
    closed_letter(200, 120);
    closed_letter(9000, 5000);
    overlap();
    padding();
    return 0;
}
