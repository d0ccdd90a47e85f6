/* Wide-character functions (docs/spec/redirection.md section 6). */
#include "stubs.h"

typedef int32_t wide; /* wchar_t of x86-64 Linux */
#define REQ_OVERLAP 0x4D430100
#define INLINE      static inline __attribute__((always_inline))

INLINE size_t length(const wide *s) {
    size_t n = 0;
    while (s[n]) n++;
    return n;
}
INLINE void check_overlap(const char *fn, const wide *d, size_t dn, const wide *s, size_t sn, size_t told) {
    uintptr_t a = (uintptr_t)d, b = (uintptr_t)s;
    if (dn && sn && (a < b ? a + dn * sizeof *d > b : b + sn * sizeof *s > a))
        request(REQ_OVERLAP, (u64)(uintptr_t)fn, (u64)d, (u64)s, told, 0);
}

PUBLIC size_t SYM(20370, C_LIB, wcslen)(const wide *s) { return length(s); }
ALSO(SYM(20370, C_LIB, __GI_wcslen), SYM(20370, C_LIB, wcslen));
VARIANTS(20370, wcslen, SYM(20370, C_LIB, wcslen));
PUBLIC size_t SYM(20440, C_LIB, wcsnlen)(const wide *s, size_t n) {
    size_t i = 0;
    while (i < n && s[i]) i++;
    return i;
}
ALSO(SYM(20440, C_LIB, __GI_wcsnlen), SYM(20440, C_LIB, wcsnlen));
VARIANTS(20440, wcsnlen, SYM(20440, C_LIB, wcsnlen));
GENERIC(20440, wcsnlen, SYM(20440, C_LIB, wcsnlen));

/* As in strings_stubs.c, but for the answer, which is as undefined as the characters are. */
PUBLIC int SYM(20380, C_LIB, wcscmp)(const wide *a, const wide *b) {
    wide x = *a, y = *b;
    if (x == y) {
        if (!x) return 0;
        do {
            x = *++a;
            y = *++b;
        } while (!one_condition((x != y) | !x));
    }
    __asm__("" : "+r"(x)); /* not the flags that were tested */
    return (x > y) - (x < y);
}
VARIANTS(20380, wcscmp, SYM(20380, C_LIB, wcscmp));
PUBLIC int SYM(20450, C_LIB, wcsncmp)(const wide *a, const wide *b, size_t n) {
    for (; n; n--, a++, b++) {
        wide x = *a, y = *b;
        return_if_ended(x, y);
        return_order(x, y);
    }
    return 0;
}
VARIANTS(20450, wcsncmp, SYM(20450, C_LIB, wcsncmp));
GENERIC(20450, wcsncmp, SYM(20450, C_LIB, wcsncmp));
PUBLIC int SYM(20470, C_LIB, wmemcmp)(const wide *a, const wide *b, size_t n) {
    for (; n; n--, a++, b++) {
        wide x = *a, y = *b;
        return_order(x, y);
    }
    return 0;
}
VARIANTS(20470, wmemcmp, SYM(20470, C_LIB, wmemcmp));

PUBLIC wide *SYM(20400, C_LIB, wcschr)(const wide *s, wide c) {
    for (;; s++) {
        if (*s == c) return (wide *)s;
        if (!*s) return NULL;
    }
}
VARIANTS(20400, wcschr, SYM(20400, C_LIB, wcschr));
PUBLIC wide *SYM(20410, C_LIB, wcsrchr)(const wide *s, wide c) {
    const wide *found = NULL;
    for (;; s++) {
        if (*s == c) found = s;
        if (!*s) return (wide *)found;
    }
}
VARIANTS(20410, wcsrchr, SYM(20410, C_LIB, wcsrchr));
PUBLIC wide *SYM(20430, C_LIB, wmemchr)(const wide *s, wide c, size_t n) {
    for (; n; n--, s++)
        if (*s == c) return (wide *)s;
    return NULL;
}
VARIANTS(20430, wmemchr, SYM(20430, C_LIB, wmemchr));

PUBLIC wide *SYM(20390, C_LIB, wcscpy)(wide *d, const wide *s) {
    size_t n = 0;
    for (wide c; (c = s[n]); n++) d[n] = c;
    d[n] = 0; /* whatever the terminator's V bits are, which were tested */
    check_overlap("wcscpy", d, n + 1, s, n + 1, 0);
    return d;
}
VARIANTS(20390, wcscpy, SYM(20390, C_LIB, wcscpy));
GENERIC(20390, wcscpy, SYM(20390, C_LIB, wcscpy));
INLINE size_t copy_bounded(wide *d, const wide *s, size_t n, const char *name) {
    size_t k = 0;
    for (; k < n && s[k]; k++) d[k] = s[k];
    size_t end = k, used = k < n ? k + 1 : k;
    for (; k < n; k++) d[k] = 0;
    check_overlap(name, d, n, s, used, n);
    return end;
}
PUBLIC wide *SYM(20480, C_LIB, wcsncpy)(wide *d, const wide *s, size_t n) {
    copy_bounded(d, s, n, "wcsncpy");
    return d;
}
VARIANTS(20480, wcsncpy, SYM(20480, C_LIB, wcsncpy));
GENERIC(20480, wcsncpy, SYM(20480, C_LIB, wcsncpy));
PUBLIC wide *SYM(20490, C_LIB, wcpncpy)(wide *d, const wide *s, size_t n) {
    return d + copy_bounded(d, s, n, "wcpncpy");
}
VARIANTS(20490, wcpncpy, SYM(20490, C_LIB, wcpncpy));
GENERIC(20490, wcpncpy, SYM(20490, C_LIB, wcpncpy));
PUBLIC wide *SYM(20510, C_LIB, wcscat)(wide *d, const wide *s) {
    wide *to = d + length(d);
    size_t n = 0;
    for (wide c; (c = s[n]); n++) to[n] = c;
    to[n] = 0;
    check_overlap("wcscat", to, n + 1, s, n + 1, 0);
    return d;
}
ALSO(SYM(20510, C_LIB, __wcscat_avx2), SYM(20510, C_LIB, wcscat));
VARIANTS(20510, wcscat, SYM(20510, C_LIB, wcscat));
GENERIC(20510, wcscat, SYM(20510, C_LIB, wcscat));
