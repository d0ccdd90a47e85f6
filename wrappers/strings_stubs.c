/* String functions (docs/spec/redirection.md section 6), one byte or one word at a
 * time: every access is exact, so memcheck needs no exception for code that
 * reads past the end on purpose.  memcpy and its kin move long runs, with their
 * V bits, through the runtime.
 */
#include "stubs.h"

#define REQ_OVERLAP          0x4D430100
#define REQ_PRINTF_BACKTRACE 0x1404 /* format, the va_list's address */
#define BULK                 256    /* from here on a request costs less than a loop over words */
#define BULK_BYTES           160    /* the same for one over bytes */
#define NO_END               (~(u64)0)
#define FAR                  96 /* a string that is longer has probably many more bytes */

typedef unsigned char uchar;
#define INLINE static inline __attribute__((always_inline))

INLINE void overlap(const char *fn, const void *d, const void *s, size_t n) {
    request(REQ_OVERLAP, (u64)(uintptr_t)fn, (u64)d, (u64)s, n, 0);
}
INLINE int overlaps(const void *d, size_t dn, const void *s, size_t sn) {
    uintptr_t a = (uintptr_t)d, b = (uintptr_t)s;
    return dn && sn && (a < b ? a + dn > b : b + sn > a);
}
/* What _FORTIFY_SOURCE guards against, told as Valgrind tells it: the C library's own words go to the program's
 * standard error, without a stack.  A macro, so that the replacement's is the first frame. */
#define overflow(name)                                                                                                 \
    do {                                                                                                               \
        u64 nothing_[3] = {0}; /* a va_list without arguments */                                                       \
        request(REQ_PRINTF_BACKTRACE,                                                                                  \
                (u64)(uintptr_t)("*** " name ": buffer overflow detected ***: program terminated\n"), (u64)nothing_,   \
                0, 0, 0);                                                                                              \
        long done_;                                                                                                    \
        __asm__ volatile("syscall" : "=a"(done_) : "a"(231l), "D"(1l) : "rcx", "r11", "memory"); /* exit_group */      \
        __builtin_unreachable();                                                                                       \
    } while (0)
INLINE u64 load8(const void *p) { return *(const u64 __attribute__((may_alias, aligned(1))) *)p; }
INLINE void store8(void *p, u64 v) { *(u64 __attribute__((may_alias, aligned(1))) *)p = v; }

INLINE u16 load2(const void *p) { return *(const u16 __attribute__((may_alias, aligned(1))) *)p; }
INLINE void store2(void *p, u16 v) { *(u16 __attribute__((may_alias, aligned(1))) *)p = v; }

/* What long strings ask for once in a while, by calls that gcc knows nothing of: so what looks at each byte has no
 * frame, and gdb, which has no unwind tables of this image, finds its caller. */
#define ASIDE static __attribute__((noinline, used, no_caller_saved_registers)) u64
#define aside(fn, a, b, ...)                                                                                           \
    ({                                                                                                                 \
        u64 answer_;                                                                                                   \
        __asm__ volatile("call %P[callee]"                                                                             \
                         : "=a"(answer_)                                                                               \
                         : [callee] "i"(fn), "D"(a), "S"(b)__VA_ARGS__                                                 \
                         : "cc", "memory");                                                                            \
        answer_;                                                                                                       \
    })
/* How many of n bytes from here on are defined, and not this one: a loop over them would find nothing. */
ASIDE others(const void *at, u64 n, u64 byte) { return request(IP_HR_PLAIN, (u64)at, n, byte, 0, 0); }
#define others_than(byte, at, n) aside(others, at, (u64)(n), , "d"((u64)(byte)))
/* So many letters of a string are copied, of those that are defined. */
ASIDE letters_copied(char *d, const char *s) {
    /* No more than what lies before the first byte that is written. */
    u64 n = request(IP_HR_PLAIN, (u64)s, d > s ? (u64)(d - s) : NO_END, 0, 0, 0);
    return n >= FAR && request(IP_HR_COPY, (u64)d, (u64)s, n, 0, 0) ? n : 0;
}
ASIDE zeros_filled(char *d, u64 n) {
    uchar zero = 0;
    return request(IP_HR_FILL, (u64)d, (u64)&zero, n, 0, 0);
}

/* Words where both sides are aligned, else pairs, else bytes: what an overrun
 * is reported as depends on it, and Valgrind's users know these sizes. */
INLINE void copy_up(uchar *d, const uchar *s, size_t n) {
    if ((((uintptr_t)d ^ (uintptr_t)s) & 7) == 0) {
        for (; n && ((uintptr_t)d & 7); n--) *d++ = *s++;
        for (; n >= 8; n -= 8, d += 8, s += 8) store8(d, load8(s));
    }
    if ((((uintptr_t)d | (uintptr_t)s) & 1) == 0)
        for (; n >= 2; n -= 2, d += 2, s += 2) store2(d, load2(s));
    for (; n; n--) *d++ = *s++;
}
INLINE void copy_down(uchar *d, const uchar *s, size_t n) { /* from their ends */
    if ((((uintptr_t)d ^ (uintptr_t)s) & 7) == 0) {
        for (; n && ((uintptr_t)d & 7); n--) *--d = *--s;
        for (; n >= 8; n -= 8) {
            d -= 8;
            s -= 8;
            store8(d, load8(s));
        }
    }
    if ((((uintptr_t)d | (uintptr_t)s) & 1) == 0)
        for (; n >= 2; n -= 2) {
            d -= 2;
            s -= 2;
            store2(d, load2(s));
        }
    for (; n; n--) *--d = *--s;
}
/* By bytes in any case. */
INLINE void copy_bytes(void *dst, const void *src, size_t n) {
    uchar *d = dst;
    const uchar *s = src;
    if (d == s) return; /* as in Valgrind: nothing is looked at */
    if (n >= BULK_BYTES && request(IP_HR_COPY, (u64)dst, (u64)src, n, 0, 0)) return;
    /* One instruction for each way, as an error has one context for each. */
    if (d < s)
        for (; n; n--) {
            *d++ = *s++;
            __asm__("" : "+r"(n));
        }
    else
        for (d += n, s += n; n; n--) {
            *--d = *--s;
            __asm__("" : "+r"(n));
        }
}
INLINE void copy_any(void *dst, const void *src, size_t n) {
    uchar *d = dst;
    const uchar *s = src;
    if (d == s) return; /* the same */
    if (n >= BULK && request(IP_HR_COPY, (u64)dst, (u64)src, n, 0, 0)) return;
    if (d <= s || d >= s + n)
        copy_up(d, s, n);
    else
        copy_down(d + n, s + n, n);
}
/* The first such byte; one load for the first of all and one for the others, as an error has one context for each. */
INLINE const uchar *first_of(const uchar *p, uchar byte) {
    if (*p == byte) return p;
    for (;; p += others_than(byte, p + 1, NO_END)) {
        const uchar *far = p + FAR;
        do
            if (*++p == byte) return p;
        while (p != far);
    }
}
/* The same among n bytes, or NULL; with one load. */
INLINE const uchar *first_within(const uchar *far, uchar byte, size_t n) {
    while (n) {
        size_t near = n < FAR ? n : FAR;
        far += near;
        n -= near;
        for (long i = -(long)near; i; i++)
            if (far[i] == byte) return far + i;
        size_t more = n < FAR ? 0 : others_than(byte, far, n);
        far += more;
        n -= more;
    }
    return NULL;
}
INLINE size_t length(const char *s) { return (size_t)(first_of((const uchar *)s, 0) - (const uchar *)s); }
INLINE size_t bounded(const char *s, size_t n) {
    const uchar *end = first_within((const uchar *)s, 0, n);
    return end ? (size_t)(end - (const uchar *)s) : n;
}
/* Without a branch: an undefined letter is told by who compares it. */
INLINE int lower(int c) {
    int is_upper = (unsigned)c - 'A' < 26u;
    __asm__("" : "+r"(is_upper));
    return c | is_upper << 5;
}

/* ---- searching ---------------------------------------------------------------- */

PUBLIC char *SYM(20010, C_LIB, strrchr)(const char *s, int c) {
    const char *found = NULL;
    for (;; s++) {
        if (*s == (char)c) found = s;
        if (!*s) return (char *)found;
    }
}
ALSO(SYM(20010, C_LIB, rindex), SYM(20010, C_LIB, strrchr));
ALSO(SYM(20010, C_LIB, __GI_strrchr), SYM(20010, C_LIB, strrchr));
VARIANTS(20010, strrchr, SYM(20010, C_LIB, strrchr));

PUBLIC char *SYM(20020, C_LIB, strchr)(const char *s, int c) {
    for (;; s++) {
        if (*s == (char)c) return (char *)s;
        if (!*s) return NULL;
    }
}
ALSO(SYM(20020, C_LIB, index), SYM(20020, C_LIB, strchr));
ALSO(SYM(20020, C_LIB, __GI_strchr), SYM(20020, C_LIB, strchr));
ALSO(SYM(20020, LD_SO, strchr), SYM(20020, C_LIB, strchr));
ALSO(SYM(20020, LD_SO, index), SYM(20020, C_LIB, strchr));
VARIANTS(20020, strchr, SYM(20020, C_LIB, strchr));

PUBLIC char *SYM(20250, C_LIB, strchrnul)(const char *s, int c) {
    while (*s && *s != (char)c) s++;
    return (char *)s;
}
VARIANTS(20250, strchrnul, SYM(20250, C_LIB, strchrnul));
PUBLIC void *SYM(20260, C_LIB, rawmemchr)(const void *s, int c) { return (void *)first_of(s, (uchar)c); }
VARIANTS(20260, rawmemchr, SYM(20260, C_LIB, rawmemchr));
PUBLIC void *SYM(20170, C_LIB, memchr)(const void *s, int c, size_t n) { return (void *)first_within(s, (uchar)c, n); }
VARIANTS(20170, memchr, SYM(20170, C_LIB, memchr));
PUBLIC void *SYM(20360, C_LIB, memrchr)(const void *s, int c, size_t n) {
    const uchar *p = s;
    while (n--)
        if (p[n] == (uchar)c) return (void *)(p + n);
    return NULL;
}
VARIANTS(20360, memrchr, SYM(20360, C_LIB, memrchr));
PUBLIC size_t SYM(20060, C_LIB, strnlen)(const char *s, size_t n) { return bounded(s, n); }
ALSO(SYM(20060, C_LIB, __GI_strnlen), SYM(20060, C_LIB, strnlen));
VARIANTS(20060, strnlen, SYM(20060, C_LIB, strnlen));
PUBLIC size_t SYM(20070, C_LIB, strlen)(const char *s) { return length(s); }
ALSO(SYM(20070, C_LIB, __GI_strlen), SYM(20070, C_LIB, strlen));
ALSO(SYM(20070, LD_SO, strlen), SYM(20070, C_LIB, strlen));
VARIANTS(20070, strlen, SYM(20070, C_LIB, strlen));

/* What is searched for is read to its end, as the C library does: one without an end is an error wherever it is found.
 * Each first byte is loaded once: what is wrong with it is one error, not two. */
INLINE int same(char a, char b, int fold) { return fold ? lower((uchar)a) == lower((uchar)b) : a == b; }
INLINE char *found_in(const char *h, const char *n, int fold) {
    size_t m = length(n);
    if (!m) return (char *)h;
    for (;; h++) {
        char first = *h;
        if (same(first, *n, fold)) {
            size_t i = 1;
            while (i < m && same(h[i], n[i], fold)) i++;
            if (i == m) return (char *)h;
        }
        if (!first) return NULL;
    }
}
PUBLIC char *SYM(20310, C_LIB, strstr)(const char *h, const char *n) { return found_in(h, n, 0); }
VARIANTS(20310, strstr, SYM(20310, C_LIB, strstr));
GENERIC(20310, strstr, SYM(20310, C_LIB, strstr));
PUBLIC char *SYM(20350, C_LIB, strcasestr)(const char *h, const char *n) { return found_in(h, n, 1); }
INLINE int is_one_of(char c, const char *set, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (set[i] == c) return 1;
    return 0;
}
PUBLIC char *SYM(20320, C_LIB, strpbrk)(const char *s, const char *set) {
    size_t m = length(set);
    for (; *s; s++)
        if (is_one_of(*s, set, m)) return (char *)s;
    return NULL;
}
VARIANTS(20320, strpbrk, SYM(20320, C_LIB, strpbrk));
GENERIC(20320, strpbrk, SYM(20320, C_LIB, strpbrk));
PUBLIC size_t SYM(20330, C_LIB, strcspn)(const char *s, const char *set) {
    size_t n = 0, m = length(set);
    while (s[n] && !is_one_of(s[n], set, m)) n++;
    return n;
}
VARIANTS(20330, strcspn, SYM(20330, C_LIB, strcspn));
GENERIC(20330, strcspn, SYM(20330, C_LIB, strcspn));
PUBLIC size_t SYM(20340, C_LIB, strspn)(const char *s, const char *set) {
    size_t n = 0, m = length(set);
    while (s[n] && is_one_of(s[n], set, m)) n++;
    return n;
}
VARIANTS(20340, strspn, SYM(20340, C_LIB, strspn));
GENERIC(20340, strspn, SYM(20340, C_LIB, strspn));

/* ---- comparing ------------------------------------------------------------------- */

/* How often an undefined character is told, and how undefined the answer is, is as with Valgrind: strncmp and its kin
 * have these conditions in this order, strcmp's loop has one, which is defined where the first string's end is, behind
 * two for the first characters; and two ends are compared once more, for of one the other may be undefined. */
INLINE int folded(char c, int fold) { return fold ? lower((uchar)c) : (uchar)c; }
INLINE int compare(const char *a, const char *b, size_t n, int fold) {
    for (; n; n--, a++, b++) {
        int x = folded(*a, fold), y = folded(*b, fold);
        return_if_ended(x, y);
        return_order(x, y);
    }
    return 0;
}
INLINE int compare_whole(const char *a, const char *b, int fold) {
    int x = folded(*a, fold), y = folded(*b, fold);
    if (x == y && !one_condition(!x)) {
        do {
            x = folded(*++a, fold);
            y = folded(*++b, fold);
        } while (!one_condition((x != y) | !x));
    }
    __asm__("" : "+r"(y)); /* whatever the branches say of it */
    return_less(x, y);
    return x > y;
}
PUBLIC int SYM(20110, C_LIB, strncmp)(const char *a, const char *b, size_t n) { return compare(a, b, n, 0); }
ALSO(SYM(20110, C_LIB, __GI_strncmp), SYM(20110, C_LIB, strncmp));
ALSO(SYM(20110, LD_SO, strncmp), SYM(20110, C_LIB, strncmp));
VARIANTS(20110, strncmp, SYM(20110, C_LIB, strncmp));
PUBLIC int SYM(20120, C_LIB, strcasecmp)(const char *a, const char *b) { return compare_whole(a, b, 1); }
ALSO(SYM(20120, C_LIB, __GI_strcasecmp), SYM(20120, C_LIB, strcasecmp));
VARIANTS(20120, strcasecmp, SYM(20120, C_LIB, strcasecmp));
PUBLIC int SYM(20130, C_LIB, strncasecmp)(const char *a, const char *b, size_t n) { return compare(a, b, n, 1); }
ALSO(SYM(20130, C_LIB, __GI_strncasecmp), SYM(20130, C_LIB, strncasecmp));
VARIANTS(20130, strncasecmp, SYM(20130, C_LIB, strncasecmp));
PUBLIC int SYM(20140, C_LIB, strcasecmp_l)(const char *a, const char *b, void *locale) {
    (void)locale;
    return compare_whole(a, b, 1);
}
VARIANTS(20140, strcasecmpZul, SYM(20140, C_LIB, strcasecmp_l));
PUBLIC int SYM(20150, C_LIB, strncasecmp_l)(const char *a, const char *b, size_t n, void *locale) {
    (void)locale;
    return compare(a, b, n, 1);
}
VARIANTS(20150, strncasecmpZul, SYM(20150, C_LIB, strncasecmp_l));
PUBLIC int SYM(20160, C_LIB, strcmp)(const char *a, const char *b) { return compare_whole(a, b, 0); }
ALSO(SYM(20160, C_LIB, __GI_strcmp), SYM(20160, C_LIB, strcmp));
ALSO(SYM(20160, LD_SO, strcmp), SYM(20160, C_LIB, strcmp));
VARIANTS(20160, strcmp, SYM(20160, C_LIB, strcmp));

/* Words where both sides are aligned only: what lies behind a difference need not be there. */
PUBLIC int SYM(20190, C_LIB, memcmp)(const void *a, const void *b, size_t n) {
    const uchar *x = a, *y = b;
    int difference = 0;
    if ((((uintptr_t)x | (uintptr_t)y) & 7) == 0)
        for (; n >= 8 && load8(x) == load8(y); n -= 8, x += 8, y += 8);
    for (size_t i = 0; i < n; i++)
        if ((difference = x[i] - y[i])) break;
    return difference;
}
ALSO(SYM(20190, C_LIB, bcmp), SYM(20190, C_LIB, memcmp));
ALSO(SYM(20190, C_LIB, __GI_memcmp), SYM(20190, C_LIB, memcmp));
ALSO(SYM(20190, C_LIB, __memcmp_sse2), SYM(20190, C_LIB, memcmp));
ALSO(SYM(20190, C_LIB, __memcmp_sse4_1), SYM(20190, C_LIB, memcmp));
ALSO(SYM(20190, LD_SO, memcmp), SYM(20190, C_LIB, memcmp));
/* Asks only whether they are equal, which any order answers. */
ALSO(SYM(20190, C_LIB, __memcmpeq), SYM(20190, C_LIB, memcmp));
VARIANTS(20190, memcmpeq, SYM(20190, C_LIB, memcmp));
VARIANTS(20190, memcmp, SYM(20190, C_LIB, memcmp));

/* ---- copying strings --------------------------------------------------------------- */

/* Copies s with its terminator to d, which lies in what the caller gave; returns the terminator's place.  The
 * zero is one of our own: a terminator that was tested is told, and then counts as defined. */
INLINE char *copy_string(char *given, char *d, const char *s, int in_runs, const char *name) {
    size_t k = 0;
    char c = *s;
    if (!c) goto ended;
    for (;;) {
        size_t far = k + FAR;
        do {
            d[k] = c;
            c = s[++k];
            if (!c) goto ended; /* tested once: each test is a context, too */
        } while (k != far);
        size_t more = !in_runs ? 0 : aside(letters_copied, d + k, s + k);
        if (!more) continue;
        k += more - 1; /* the last one once more: the next is loaded where all are */
        c = s[k];
    }
ended:
    d[k] = 0;
    if (overlaps(given, (size_t)(d - given) + k + 1, s, k + 1)) overlap(name, given, s, 0);
    return d + k;
}
PUBLIC char *SYM(20080, C_LIB, strcpy)(char *d, const char *s) {
    copy_string(d, d, s, 1, "strcpy");
    return d;
}
VARIANTS(20080, strcpy, SYM(20080, C_LIB, strcpy));
PUBLIC char *SYM(20200, C_LIB, stpcpy)(char *d, const char *s) { return copy_string(d, d, s, 1, "stpcpy"); }
ALSO(SYM(20200, C_LIB, __stpcpy_sse2), SYM(20200, C_LIB, stpcpy));
ALSO(SYM(20200, LD_SO, stpcpy), SYM(20200, C_LIB, stpcpy));
VARIANTS(20200, stpcpy, SYM(20200, C_LIB, stpcpy));
/* The same into `room` bytes, as far as they reach. */
#define copy_within(to, source, space, name)                                                                           \
    ({                                                                                                                 \
        char *d_ = (to);                                                                                               \
        const char *s_ = (source);                                                                                     \
        size_t left_ = (space);                                                                                        \
        for (;; d_++, s_++) {                                                                                          \
            if (!left_--) overflow(name);                                                                              \
            if (!(*d_ = *s_)) break;                                                                                   \
        }                                                                                                              \
        size_t n_ = (size_t)(s_ - (source)) + 1;                                                                       \
        if (overlaps((to), n_, (source), n_)) overlap(name, (to), (source), 0);                                        \
        d_;                                                                                                            \
    })
PUBLIC char *SYM(20270, C_LIB, __strcpy_chk)(char *d, const char *s, size_t room) {
    copy_within(d, s, room, "strcpy_chk");
    return d;
}
PUBLIC char *SYM(20280, C_LIB, __stpcpy_chk)(char *d, const char *s, size_t room) {
    return copy_within(d, s, room, "stpcpy_chk");
}
INLINE char *copy_bounded(char *d, const char *s, size_t n, const char *name) {
    size_t k = 0;
    for (; k < n && s[k]; k++) d[k] = s[k];
    char *end = d + k;
    size_t used = k < n ? k + 1 : k;
    if (n - k >= BULK_BYTES && aside(zeros_filled, end, n - k)) k = n;
    for (; k < n; k++) d[k] = 0;
    if (overlaps(d, n, s, used)) overlap(name, d, s, n);
    return end;
}
PUBLIC char *SYM(20090, C_LIB, strncpy)(char *d, const char *s, size_t n) {
    copy_bounded(d, s, n, "strncpy");
    return d;
}
VARIANTS(20090, strncpy, SYM(20090, C_LIB, strncpy));
PUBLIC char *SYM(20420, C_LIB, stpncpy)(char *d, const char *s, size_t n) { return copy_bounded(d, s, n, "stpncpy"); }
VARIANTS(20420, stpncpy, SYM(20420, C_LIB, stpncpy));
PUBLIC size_t SYM(20100, C_LIB, strlcpy)(char *d, const char *s, size_t n) {
    size_t k = 0;
    for (; k + 1 < n && s[k]; k++) d[k] = s[k];
    if (n) d[k] = 0;
    size_t all = k;
    while (s[all]) all++;
    if (n && overlaps(d, k + 1, s, k + 1)) overlap("strlcpy", d, s, n);
    return all;
}
PUBLIC char *SYM(20030, C_LIB, strcat)(char *d, const char *s) {
    copy_string(d, d + length(d), s, 0, "strcat"); /* in runs, too, it would need a frame */
    return d;
}
VARIANTS(20030, strcat, SYM(20030, C_LIB, strcat));
PUBLIC char *SYM(20040, C_LIB, strncat)(char *d, const char *s, size_t n) {
    char *to = d + length(d);
    size_t k = 0;
    for (; k < n && s[k]; k++) to[k] = s[k];
    to[k] = 0;
    size_t used = k + (k < n);
    /* A source that lies in the destination is told even when none of it is taken: how much is, is often chance. */
    if (overlaps(d, (size_t)(to - d) + k + 1, s, used ? used : 1)) overlap("strncat", d, s, n);
    return d;
}
VARIANTS(20040, strncat, SYM(20040, C_LIB, strncat));
PUBLIC size_t SYM(20050, C_LIB, strlcat)(char *d, const char *s, size_t n) {
    size_t used = bounded(d, n), k = 0, all = length(s);
    if (used == n) return n + all;
    for (; used + k + 1 < n && s[k]; k++) d[used + k] = s[k];
    d[used + k] = 0;
    if (overlaps(d + used, k + 1, s, k + 1)) overlap("strlcat", d, s, n);
    return used + all;
}

/* ---- memory -------------------------------------------------------------------------- */

INLINE void copy_apart(void *d, const void *s, size_t n, const char *name) {
    if (overlaps(d, n, s, n)) overlap(name, d, s, n);
    copy_any(d, s, n);
}
PUBLIC void *SYM(20180, C_LIB, memcpy)(void *d, const void *s, size_t n) {
    copy_apart(d, s, n, "memcpy");
    return d;
}
ALSO(SYM_ZZ(20180, C_LIB, memcpyZAZAGLIBCZu2Zd14), SYM(20180, C_LIB, memcpy));
ALSO(SYM(20180, C_LIB, __memcpy_sse2), SYM(20180, C_LIB, memcpy));
ALSO(SYM(20180, C_LIB, __memcpy_avx_unaligned_erms), SYM(20180, C_LIB, memcpy));
ALSO(SYM(20180, NONE, _intel_fast_memcpy), SYM(20180, C_LIB, memcpy));
VARIANTS(20180, memcpy, SYM(20180, C_LIB, memcpy));
ERMS(20180, memcpy, SYM(20180, C_LIB, memcpy));
PUBLIC void *SYM(20181, C_LIB, memmove)(void *d, const void *s, size_t n) {
    copy_any(d, s, n);
    return d;
}
ALSO(SYM_ZZ(20181, C_LIB, memcpyZAGLIBCZu2Zd2Zd5), SYM(20181, C_LIB, memmove));
VARIANTS(20181, memmove, SYM(20181, C_LIB, memmove));
ERMS(20181, memmove, SYM(20181, C_LIB, memmove));
PUBLIC void *SYM(20300, C_LIB, __memcpy_chk)(void *d, const void *s, size_t n, size_t room) {
    if (room < n) overflow("memcpy_chk");
    copy_apart(d, s, n, "memcpy_chk");
    return d;
}
/* In glibc one body is both: this, which lies higher, holds (docs/spec/redirection.md, section 4), for an overlap is
 * no error of who called memmove. */
PUBLIC void *SYM(20240, C_LIB, __memmove_chk)(void *d, const void *s, size_t n, size_t room) {
    if (room < n) overflow("memmove_chk");
    copy_any(d, s, n);
    return d;
}
PUBLIC void *SYM(20290, C_LIB, mempcpy)(void *d, const void *s, size_t n) {
    if (overlaps(d, n, s, n)) overlap("mempcpy", d, s, n);
    copy_bytes(d, s, n);
    return (char *)d + n;
}
ALSO(SYM(20290, LD_SO, mempcpy), SYM(20290, C_LIB, mempcpy));
VARIANTS(20290, mempcpy, SYM(20290, C_LIB, mempcpy));
ERMS(20290, mempcpy, SYM(20290, C_LIB, mempcpy));
PUBLIC void SYM(20230, C_LIB, bcopy)(const void *s, void *d, size_t n) { copy_bytes(d, s, n); }
PUBLIC void *SYM(20500, C_LIB, memccpy)(void *dst, const void *src, int c, size_t n) {
    uchar *d = dst;
    const uchar *s = src;
    size_t i = 0;
    while (i < n) {
        d[i] = s[i];
        if (s[i++] == (uchar)c) {
            if (overlaps(d, i, s, i)) overlap("memccpy", d, s, n);
            return d + i;
        }
    }
    if (overlaps(d, n, s, n)) overlap("memccpy", d, s, n);
    return NULL;
}
PUBLIC void *SYM(20210, C_LIB, memset)(void *dst, int c, size_t n) {
    uchar *d = dst;
    uchar byte = (uchar)c;
    if (n >= BULK && request(IP_HR_FILL, (u64)dst, (u64)&byte, n, 0, 0)) return dst;
    u64 word = (uchar)c * 0x0101010101010101ull;
    for (; n && ((uintptr_t)d & 7); n--) *d++ = (uchar)c;
    for (; n >= 8; n -= 8, d += 8) store8(d, word);
    for (; n; n--) *d++ = (uchar)c;
    return dst;
}
VARIANTS(20210, memset, SYM(20210, C_LIB, memset));
ERMS(20210, memset, SYM(20210, C_LIB, memset));
