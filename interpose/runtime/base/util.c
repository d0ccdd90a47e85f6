/* Small things the rest of the runtime stands on: string routines, formatting, our own pages, and the way to die of
 * the user's environment: one line, what was found, what helps.  A fault of ours ends in core/panic.c.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/mman.h>

#include "runtime/base/rt.h"

struct rt_global rt;

/* ---- strings ----------------------------------------------------- */

size_t rt_strlen(const char *s) {
    const char *p = s;
    while (*p) {
        p++;
        __asm__ volatile("" : "+r"(p)); /* not a call of strlen */
    }
    return (size_t)(p - s);
}

int rt_strcmp(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return (int)(u8)*a - (int)(u8)*b;
}

int rt_strncmp(const char *a, const char *b, size_t n) {
    for (; n > 0; a++, b++, n--) {
        if (*a != *b) return (int)(u8)*a - (int)(u8)*b;
        if (*a == 0) return 0;
    }
    return 0;
}

/* ---- formatting -------------------------------------------------------------- */

struct out {
    char *buf;
    size_t cap, len; /* len counts what would have been written */
};

static void put(struct out *o, char c) {
    if (o->len + 1 < o->cap) o->buf[o->len] = c;
    o->len++;
}

static void put_padded(struct out *o, const char *s, size_t n, size_t width, bool left, char pad) {
    size_t fill = width > n ? width - n : 0;
    if (pad == '0' && n > 0 && *s == '-') { /* the sign stays in front of zeros */
        put(o, '-');
        s++, n--;
    }
    if (!left)
        while (fill-- > 0) put(o, pad);
    for (size_t i = 0; i < n; i++) put(o, s[i]);
    if (left)
        while (fill-- > 0) put(o, ' ');
}

static size_t number(char *tmp, u64 v, unsigned base, bool negative) {
    char rev[24];
    size_t n = 0, len = 0;
    do {
        rev[n++] = "0123456789abcdef"[v % base];
        v /= base;
    } while (v != 0);
    if (negative) tmp[len++] = '-';
    while (n > 0) tmp[len++] = rev[--n];
    return len;
}

int rt_vsnprintf(char *buf, size_t n, const char *fmt, va_list ap) {
    struct out o = {buf, n, 0};
    for (; *fmt; fmt++) {
        if (*fmt != '%') {
            put(&o, *fmt);
            continue;
        }
        bool left = false;
        char pad = ' ';
        size_t width = 0, precision = (size_t)-1;
        int longs = 0;
        fmt++;
        for (;; fmt++) {
            if (*fmt == '-')
                left = true;
            else if (*fmt == '0')
                pad = '0';
            else
                break;
        }
        for (; *fmt >= '0' && *fmt <= '9'; fmt++) width = width * 10 + (size_t)(*fmt - '0');
        if (*fmt == '.') {
            precision = 0;
            fmt++;
            if (*fmt == '*') {
                precision = (size_t)va_arg(ap, int);
                fmt++;
            }
            for (; *fmt >= '0' && *fmt <= '9'; fmt++) precision = precision * 10 + (size_t)(*fmt - '0');
        }
        for (; *fmt == 'l' || *fmt == 'z'; fmt++) longs++;
        char tmp[32];
        size_t len;
        switch (*fmt) {
        case 's': {
            const char *s = va_arg(ap, const char *);
            if (s == NULL) s = "(null)";
            for (len = 0; len < precision && s[len]; len++);
            put_padded(&o, s, len, width, left, ' ');
            break;
        }
        case 'd': {
            i64 v = longs ? va_arg(ap, long) : va_arg(ap, int);
            len = number(tmp, v < 0 ? 0 - (u64)v : (u64)v, 10, v < 0);
            put_padded(&o, tmp, len, width, left, pad);
            break;
        }
        case 'u':
        case 'x':
        case 'X': {
            u64 v = longs ? va_arg(ap, unsigned long) : va_arg(ap, unsigned);
            len = number(tmp, v, *fmt == 'u' ? 10 : 16, false);
            for (int i = 0; *fmt == 'X' && i < (int)len; i++)
                if (tmp[i] >= 'a') tmp[i] -= 'a' - 'A';
            put_padded(&o, tmp, len, width, left, pad);
            break;
        }
        case 'p':
            put(&o, '0'), put(&o, 'x');
            len = number(tmp, (u64)va_arg(ap, void *), 16, false);
            put_padded(&o, tmp, len, width, left, pad);
            break;
        case 'c': put(&o, (char)va_arg(ap, int)); break;
        case '%': put(&o, '%'); break;
        case 0:
            fmt--; /* a lone % at the end */
            break;
        default: put(&o, '%'); put(&o, *fmt);
        }
    }
    if (o.cap > 0) buf[o.len < o.cap ? o.len : o.cap - 1] = 0;
    return (int)o.len;
}

int rt_snprintf(char *buf, size_t n, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int len = rt_vsnprintf(buf, n, fmt, ap);
    va_end(ap);
    return len;
}

/* ---- our own pages ------------------------------------------------------------ */

/* A program may have as many mappings as the kernel allows (vm.max_map_count), and then fork or execute something, for
 * which we need some.  Where it has many, pages of alternate protection hold a few back. */
#define SPARE_BYTES (32ull * RT_PAGE)

static u64 spare;

static bool spend(void) {
    u64 at = __atomic_exchange_n(&spare, 0, __ATOMIC_ACQ_REL);
    if (at) sys2(__NR_munmap, (long)at, SPARE_BYTES);
    return at != 0;
}

long rt_host_map_from(u64 at, u64 bytes, u32 prot, u32 flags, int fd, u64 place) {
    long p = sys6(__NR_mmap, (long)at, (long)bytes, prot, flags, fd, (long)place);
    return p == -ENOMEM && spend() ? sys6(__NR_mmap, (long)at, (long)bytes, prot, flags, fd, (long)place) : p;
}

long rt_host_map(u64 at, u64 bytes, u32 prot, u32 flags, int fd) {
    return rt_host_map_from(at, bytes, prot, flags, fd, 0);
}

void rt_spare_mappings(void) {
    if (__atomic_load_n(&spare, __ATOMIC_ACQUIRE)) return;
    long p = rt_own_map(SPARE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    bool ok = p > 0 || p < -4095;
    if (!ok) return;
    sys3(__NR_madvise, p, SPARE_BYTES, MADV_DONTDUMP);
    for (u64 at = 0; at < SPARE_BYTES && ok; at += 2 * RT_PAGE)
        ok = sys3(__NR_mprotect, p + (long)at, RT_PAGE, PROT_READ) == 0;
    u64 none = 0;
    if (!ok || !__atomic_compare_exchange_n(&spare, &none, (u64)p, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        sys2(__NR_munmap, p, SPARE_BYTES);
}

/* The window is used in a circle: memory given back is met again after 512 GiB. */
long rt_own_map(u64 bytes, u32 prot, u32 flags, int fd) {
    static u64 next = IP_XLT_END;
    bytes = RT_ROUND_UP(bytes, RT_PAGE);
    for (u32 rounds = 0; rounds < 3;) {
        u64 at = __atomic_fetch_add(&next, bytes, __ATOMIC_RELAXED), end = at + bytes;
        if (at < IP_XLT_END || end > IP_OWN_END || end < at) {
            end = at + bytes;
            __atomic_compare_exchange_n(&next, &end, IP_XLT_END, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
            rounds++;
            continue;
        }
        long p = rt_host_map(at, bytes, prot, flags | MAP_FIXED_NOREPLACE, fd);
        if (p != -EEXIST) return p;
    }
    return -ENOMEM;
}

void *rt_pages(u64 bytes) {
    bytes = RT_ROUND_UP(bytes, RT_PAGE);
    long p = rt_own_map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (p < 0 && p >= -4095)
        rt_die("out of memory: the kernel refused %lu bytes for the runtime (error %ld); "
               "check 'ulimit -v' and free memory",
               bytes, -p);
    sys3(__NR_madvise, p, (long)bytes, MADV_DONTDUMP); /* a core file is the program's */
    return (void *)p;
}

void rt_free_pages(void *p, u64 bytes) { sys2(__NR_munmap, (long)p, (long)RT_ROUND_UP(bytes, RT_PAGE)); }

/* ---- dying ---------------------------------------------------------------------- */

static void write_error(const char *s, size_t n) {
    while (n > 0) {
        long w = sys3(__NR_write, 2, (long)s, (long)n);
        if (w == -EINTR) continue;
        if (w <= 0) return;
        s += w;
        n -= (size_t)w;
    }
}

void rt_vline(const char *head, const char *fmt, va_list ap) {
    char buf[1024 + 4096];
    size_t last = sizeof buf - 2; /* where the line ends, whatever was cut off */
    size_t n = (size_t)rt_snprintf(buf, sizeof buf, "%s", head);
    n += (size_t)rt_vsnprintf(buf + n, sizeof buf - n, fmt, ap);
    if (n > last) n = last;
    buf[n] = '\n';
    write_error(buf, n + 1);
}

void rt_die(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    rt_vline("interpose: ", fmt, ap);
    va_end(ap);
    for (;;) sys1(__NR_exit_group, 1);
}

/* The compiler's helper for __builtin_popcountll without the instruction. */
int __popcountdi2(i64 v);
int __popcountdi2(i64 v) {
    u64 x = (u64)v;
    x -= x >> 1 & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
    return (int)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56);
}
