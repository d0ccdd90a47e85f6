/* status, stat, statm and limits of the guest: the kernel's, with the numbers
 * that count our memory, handlers and limits replaced (proc_pid_status(5),
 * proc_pid_stat(5), proc_pid_statm(5)).
 */
#include <asm/unistd.h>
#include <linux/resource.h>

#include "runtime/memory/memory.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/memory/mm.h"
#include "runtime/procfs/procfs.h"
#include "runtime/signals/sig.h"

void proc_sizes(struct proc_sizes *z) {
    *z = (struct proc_sizes){0, 0, 0, 0, 0};
    rt_mm_lock();
    for (u32 i = 0; i < rt_nsegs; i++) {
        const struct rt_seg *s = &rt_segs[i];
        u64 n = s->hi - rt_stack_shown(s);
        if (s->mflags & MM_OURS) continue;
        z->all += n;
        if (s->kind == RT_SEG_STACK || (s->mflags & MM_GROWS))
            z->stack += n;
        else if ((s->prot & PROT_WRITE) && !(s->mflags & MM_SHARED))
            z->data += n;
        else if ((s->prot & PROT_EXEC) && !(s->prot & PROT_WRITE))
            z->code += n;
    }
    rt_mm_unlock();
}

static u64 number(const char *p) {
    u64 v = 0;
    while (*p == ' ' || *p == '\t') p++;
    for (; *p >= '0' && *p <= '9'; p++) v = v * 10 + (u64)(*p - '0');
    return v;
}

/* Value of "Key:\t  123 kB"; 0 if there is no such line. */
static u64 line_value(const char *text, const char *key) {
    u64 n = rt_strlen(key);
    for (; *text; text = proc_next_line(text))
        if (rt_strncmp(text, key, n) == 0) return number(text + n);
    return 0;
}

/* ---- status ------------------------------------------------------------------------------------ */

static u64 handled(struct tstate *ts, bool ignored) {
    u64 set = 0;
    for (int s = 1; s <= SIG_MAX; s++) {
        u64 h = sig_table_get(ts, s).handler;
        if (ignored ? h == SIGH_IGN : h != SIGH_IGN && h != SIGH_DFL) set |= SIG_BIT(s);
    }
    return set;
}

static u64 mask_of(struct tstate *ts, u32 tid) {
    struct tstate *t = ts;
    for (u32 i = 0; tid != 0 && (t = rt_thread_by_index(i)) != NULL; i++)
        if (rt_th(t)->in_use && rt_th(t)->tid == tid) return rt_th(t)->sigmask;
    return rt_th(ts)->sigmask;
}

bool proc_status_text(struct tstate *ts, u32 tid, int fd, struct proc_text *t) {
    struct proc_text kernel = {0};
    struct proc_usage u;
    struct proc_sizes z;
    if (!proc_read_kernel(fd, &kernel, 16384) || !proc_usage(&u)) {
        proc_text_free(&kernel);
        return false;
    }
    proc_sizes(&z);
    u64 rss_before = line_value(kernel.at, "VmRSS:"), exe = line_value(kernel.at, "VmExe:");
    u64 hwm = line_value(kernel.at, "VmHWM:"), code = z.code >> 10;
    u64 peak = mm_peak - (mm_bytes - z.all); /* without the stack's unused part */
    const struct {
        const char *key;
        u64 kb;
    } amounts[] = {
        {"VmPeak:", peak >> 10},
        {"VmSize:", z.all >> 10},
        {"VmHWM:", u.rss + (hwm > rss_before ? hwm - rss_before : 0)},
        {"VmRSS:", u.rss},
        {"RssAnon:", u.anon},
        {"RssFile:", u.file},
        {"RssShmem:", u.shmem},
        {"VmData:", z.data >> 10},
        {"VmStk:", z.stack >> 10},
        {"VmLib:", code > exe ? code - exe : 0},
    };
    proc_reserve(t, 32768);
    for (const char *p = kernel.at, *next; *p; p = next) {
        char *out = t->at + t->len;
        u64 n = 0;
        next = proc_next_line(p);
        for (u32 i = 0; i < sizeof amounts / sizeof *amounts && n == 0; i++)
            if (rt_strncmp(p, amounts[i].key, rt_strlen(amounts[i].key)) == 0)
                n = (u64)rt_snprintf(out, 64, "%s\t%8lu kB\n", amounts[i].key, amounts[i].kb);
        if (n == 0 && rt_strncmp(p, "SigBlk:", 7) == 0)
            n = (u64)rt_snprintf(out, 64, "SigBlk:\t%016lx\n", mask_of(ts, tid));
        if (n == 0 && (rt_strncmp(p, "SigIgn:", 7) == 0 || rt_strncmp(p, "SigCgt:", 7) == 0))
            n = (u64)rt_snprintf(out, 64, "%.7s\t%016lx\n", p, handled(ts, p[3] == 'I'));
        u64 slots = n == 0 && rt_strncmp(p, "FDSize:", 7) == 0 ? rt_fd_slots() : 0;
        if (slots) n = (u64)rt_snprintf(out, 64, "FDSize:\t%lu\n", slots);
        if (n == 0) memcpy(out, p, n = (u64)(next - p));
        t->len += n;
    }
    proc_text_free(&kernel);
    return true;
}

/* ---- stat and statm -------------------------------------------------------------------------------- */

#define FIELD_VSIZE 23
#define FIELD_RSS   24

/* The kernel's text and what the program's memory is instead; false: nothing is held. */
static bool read_sizes(int fd, struct proc_text *kernel, struct proc_usage *u, struct proc_sizes *z) {
    if (!proc_read_kernel(fd, kernel, RT_PAGE) || !proc_usage(u)) {
        proc_text_free(kernel);
        return false;
    }
    proc_sizes(z);
    return true;
}

bool proc_stat_text(int fd, struct proc_text *t) {
    struct proc_text kernel = {0};
    struct proc_usage u;
    struct proc_sizes z;
    if (!read_sizes(fd, &kernel, &u, &z)) return false;
    proc_reserve(t, kernel.len + 64);
    u64 name_end = kernel.len; /* the name may hold spaces and parentheses */
    while (name_end > 0 && kernel.at[name_end - 1] != ')') name_end--;
    u32 field = 2;
    for (u64 i = 0; i < kernel.len;) {
        t->at[t->len++] = kernel.at[i];
        if (kernel.at[i++] != ' ' || i <= name_end) continue;
        field++;
        if (field != FIELD_VSIZE && field != FIELD_RSS) continue;
        t->len += (u64)rt_snprintf(t->at + t->len, 24, "%lu", field == FIELD_RSS ? u.rss >> 2 : z.all);
        while (i < kernel.len && kernel.at[i] != ' ') i++;
    }
    proc_text_free(&kernel);
    return true;
}

bool proc_statm_text(int fd, struct proc_text *t) {
    struct proc_text kernel = {0};
    struct proc_usage u;
    struct proc_sizes z;
    if (!read_sizes(fd, &kernel, &u, &z)) return false;
    const char *p = kernel.at;
    for (u32 i = 0; i < 3 && *p; i++) /* the fourth: text */
        for (bool more = true; *p && more; p++) more = *p != ' ';
    proc_reserve(t, 256);
    t->len = (u64)rt_snprintf(t->at, 256, "%lu %lu %lu %lu 0 %lu 0\n", z.all >> 12, u.rss >> 2, (u.file + u.shmem) >> 2,
                              number(p), (z.data + z.stack) >> 12);
    proc_text_free(&kernel);
    return true;
}

/* ---- limits ------------------------------------------------------------------------------------------ */

static u64 limit_word(char *out, u64 v) {
    return v == RLIM64_INFINITY ? (u64)rt_snprintf(out, 32, "%-20s ", "unlimited")
                                : (u64)rt_snprintf(out, 32, "%-20lu ", v);
}

bool proc_limits_text(int fd, struct proc_text *t) {
    static const struct {
        const char *name;
        u32 which;
    } own[] = {{"Max address space", RLIMIT_AS}, {"Max data size", RLIMIT_DATA}};
    struct proc_text kernel = {0};
    bool ok = proc_read_kernel(fd, &kernel, 16384);
    if (ok) proc_reserve(t, 32768);
    for (const char *p = kernel.at, *next; ok && *p; p = next) {
        u64 cur, max, n = 0;
        next = proc_next_line(p);
        for (u32 i = 0; i < sizeof own / sizeof *own; i++) {
            if (rt_strncmp(p, own[i].name, rt_strlen(own[i].name)) != 0 || !rt_guest_limit(own[i].which, &cur, &max))
                continue;
            n = (u64)rt_snprintf(t->at + t->len, 64, "%-25s ", own[i].name);
            n += limit_word(t->at + t->len + n, cur);
            n += limit_word(t->at + t->len + n, max);
            n += (u64)rt_snprintf(t->at + t->len + n, 64, "%-10s\n", "bytes");
        }
        if (n == 0) memcpy(t->at + t->len, p, n = (u64)(next - p));
        t->len += n;
    }
    proc_text_free(&kernel);
    return ok;
}
