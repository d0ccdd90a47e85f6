/* maps, smaps and status of the guest: what the kernel says, without what is
 * ours (proc_pid_maps(5), proc_pid_smaps(5), proc_pid_status(5)).
 */
#include <asm/unistd.h>
#include <linux/fcntl.h>

#include "mm.h"
#include "procfs.h"
#include "sig.h"

#define LINE_ROOM (4096 + 128)
#define NAME_COLUMN 73 /* where the kernel begins a mapping's name */
#define MAX_FIELDS 40

void proc_text_free(struct proc_text *t) {
    if (t->at)
        rt_free_pages(t->at, t->room);
    *t = (struct proc_text){0};
}

static void reserve(struct proc_text *t, u64 bytes) {
    t->room = RT_ROUND_UP(bytes, RT_PAGE);
    t->at = rt_pages(t->room); /* untouched pages cost nothing */
}

/* ---- maps ------------------------------------------------------------------------------------ */

static u64 maps_line(char *out, const struct rt_seg *s) {
    const char *name = s->kind == RT_SEG_STACK ? "[stack]"
                       : s->kind == RT_SEG_BRK ? "[heap]"
                       : s->path               ? rt_paths + s->path
                       : s->kind == RT_SEG_SHM ? "/SYSV00000000 (deleted)"
                                               : "";
    bool file = s->kind == RT_SEG_FILE || s->kind == RT_SEG_SHM;
    u64 major = file ? s->dev >> 8 & 0xfff : 0;
    u64 minor = file ? (s->dev & 0xff) | (s->dev >> 12 & 0xfff00) : 0;
    if (s->kind == RT_SEG_SHM)
        major = 0, minor = 1;
    u64 n = (u64)rt_snprintf(out, LINE_ROOM, "%08lx-%08lx %c%c%c%c %08lx %02lx:%02lx %lu ", s->lo, s->hi,
                             s->prot & PROT_READ ? 'r' : '-', s->prot & PROT_WRITE ? 'w' : '-',
                             s->prot & PROT_EXEC ? 'x' : '-', s->mflags & MM_SHARED ? 's' : 'p',
                             file ? s->off : 0, major, minor, file ? s->ino : 0);
    if (*name)
        while (n < NAME_COLUMN)
            out[n++] = ' ';
    return n + (u64)rt_snprintf(out + n, LINE_ROOM - n, "%s\n", name);
}

static void maps(struct proc_text *t) {
    rt_mm_lock();
    reserve(t, (u64)(rt_nsegs + 1) * LINE_ROOM);
    for (u32 i = 0; i < rt_nsegs; i++)
        if (!(rt_segs[i].mflags & MM_OURS))
            t->len += maps_line(t->at + t->len, &rt_segs[i]);
    rt_mm_unlock();
}

/* ---- reading the kernel's ---------------------------------------------------------------------- */

static bool read_kernel(const char *path, struct proc_text *t, u64 room) {
    long fd = sys4(__NR_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0), n;
    if (fd < 0)
        return false;
    reserve(t, room);
    while ((n = sys3(__NR_read, fd, (long)(t->at + t->len), (long)(t->room - 1 - t->len))) > 0)
        t->len += (u64)n;
    sys1(__NR_close, fd);
    t->at[t->len] = 0;
    return n == 0;
}

static u64 hex(const char **p) {
    u64 v = 0;
    for (;; (*p)++) {
        char c = **p;
        u64 d = c >= '0' && c <= '9' ? (u64)(c - '0') : c >= 'a' && c <= 'f' ? (u64)(c - 'a') + 10 : 16;
        if (d == 16)
            return v;
        v = v << 4 | d;
    }
}

static u64 decimal(const char *p) {
    u64 v = 0;
    while (*p == ' ')
        p++;
    for (; *p >= '0' && *p <= '9'; p++)
        v = v * 10 + (u64)(*p - '0');
    return v;
}

static const char *next_line(const char *p) {
    while (*p && *p != '\n')
        p++;
    return *p ? p + 1 : p;
}

static bool is_header(const char *p) { return (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); }

/* ---- smaps --------------------------------------------------------------------------------------- */

struct smaps_field {
    const char *name; /* up to the colon */
    u32 name_len;
    bool amount;      /* kB that add up over a mapping's parts                       */
    u64 value;
};

static bool adds_up(const char *name, u32 len) {
    static const char *const fixed[] = {"KernelPageSize", "MMUPageSize", "THPeligible", "ProtectionKey"};
    for (u32 i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (rt_strlen(fixed[i]) == len && rt_strncmp(fixed[i], name, len) == 0)
            return false;
    return true;
}

/* Add share of one kernel mapping's fields (from p on); its flags' line. */
static const char *add_fields(const char *p, struct smaps_field *f, u32 *count, u64 share, u64 whole) {
    const char *flags = NULL;
    for (u32 n = 0; *p && !is_header(p); p = next_line(p)) {
        u32 len = 0;
        while (p[len] && p[len] != ':' && p[len] != '\n')
            len++;
        if (rt_strncmp(p, "VmFlags", 7) == 0) {
            flags = p;
            continue;
        }
        if (p[len] != ':' || n == MAX_FIELDS)
            continue;
        u64 v = decimal(p + len + 1);
        if (n == *count)
            f[(*count)++] = (struct smaps_field){p, len, adds_up(p, len), 0};
        if (!f[n].amount)
            f[n].value = v;
        else if (whole)
            f[n].value += share == whole ? v : v * (share >> 12) / (whole >> 12);
        n++;
    }
    return flags;
}

static u64 flags_line(char *out, const char *kernel, u32 prot) {
    u64 n = (u64)rt_snprintf(out, LINE_ROOM, "VmFlags:");
    static const struct { u32 bit; const char *name; } own[] = {
        {PROT_READ, " rd"}, {PROT_WRITE, " wr"}, {PROT_EXEC, " ex"}};
    for (u32 i = 0; i < 3; i++)
        if (prot & own[i].bit)
            n += (u64)rt_snprintf(out + n, LINE_ROOM - n, "%s", own[i].name);
    for (const char *p = kernel + 8; *p && *p != '\n'; p++) {
        if (*p == ' ')
            continue;
        bool ours = (p[0] == 'r' && p[1] == 'd') || (p[0] == 'w' && p[1] == 'r') || (p[0] == 'd' && p[1] == 'd');
        if (!ours)
            n += (u64)rt_snprintf(out + n, LINE_ROOM - n, " %.2s", p);
        p++;
    }
    return n + (u64)rt_snprintf(out + n, LINE_ROOM - n, " \n");
}

/* One mapping of the guest; *at: the first of the kernel's that may touch it. */
static u64 smaps_entry(char *out, const struct rt_seg *s, const char **at) {
    struct smaps_field f[MAX_FIELDS];
    const char *flags = NULL, *p = *at;
    u32 count = 0;
    while (*p) {
        const char *q = p;
        u64 lo = hex(&q);
        q++;
        u64 hi = hex(&q);
        const char *body = next_line(q), *next = body;
        while (*next && !is_header(next))
            next = next_line(next);
        if (lo >= s->hi)
            break;
        if (hi > s->lo) {
            u64 a = lo > s->lo ? lo : s->lo, b = hi < s->hi ? hi : s->hi;
            const char *fl = add_fields(body, f, &count, b - a, hi - lo);
            flags = flags ? flags : fl;
        }
        if (hi <= s->hi)
            *at = next;
        p = next;
    }
    u64 n = maps_line(out, s);
    for (u32 i = 0; i < count; i++) {
        bool size = f[i].name_len == 4 && rt_strncmp(f[i].name, "Size", 4) == 0;
        bool unit = f[i].amount || f[i].name[1] != 'H'; /* THPeligible is a plain number */
        if (f[i].name[0] == 'P' && f[i].name[1] == 'r')
            unit = false; /* ProtectionKey */
        char head[32];
        rt_snprintf(head, sizeof head, "%.*s:", (int)f[i].name_len, f[i].name);
        n += (u64)rt_snprintf(out + n, LINE_ROOM, "%-16s%8lu%s\n", head, size ? (s->hi - s->lo) >> 10 : f[i].value,
                              unit ? " kB" : "");
    }
    return flags ? n + flags_line(out + n, flags, s->prot) : n;
}

static bool smaps(struct proc_text *t) {
    struct proc_text kernel = {0};
    rt_mm_lock();
    bool ok = read_kernel("/proc/self/smaps", &kernel, 256ull << 20);
    if (ok) {
        const char *at = kernel.at;
        reserve(t, (u64)(rt_nsegs + 1) * (LINE_ROOM + MAX_FIELDS * 64));
        for (u32 i = 0; i < rt_nsegs; i++)
            if (!(rt_segs[i].mflags & MM_OURS))
                t->len += smaps_entry(t->at + t->len, &rt_segs[i], &at);
    }
    rt_mm_unlock();
    proc_text_free(&kernel);
    return ok;
}

/* ---- status --------------------------------------------------------------------------------------- */

static u64 address_space(void) {
    u64 sum = 0;
    rt_mm_lock();
    for (u32 i = 0; i < rt_nsegs; i++)
        if (!(rt_segs[i].mflags & MM_OURS))
            sum += rt_segs[i].hi - rt_segs[i].lo;
    rt_mm_unlock();
    return sum;
}

static u64 handled(struct tstate *ts, bool ignored) {
    u64 set = 0;
    for (int s = 1; s <= SIG_MAX; s++) {
        u64 h = sig_table_get(ts, s).handler;
        if (ignored ? h == SIGH_IGN : h != SIGH_IGN && h != SIGH_DFL)
            set |= SIG_BIT(s);
    }
    return set;
}

static bool status(struct tstate *ts, struct proc_text *t) {
    struct proc_text kernel = {0};
    if (!read_kernel("/proc/self/status", &kernel, 16384)) {
        proc_text_free(&kernel);
        return false;
    }
    reserve(t, 32768);
    for (const char *p = kernel.at, *next; *p; p = next) {
        char *out = t->at + t->len;
        next = next_line(p);
        if (rt_strncmp(p, "VmSize:", 7) == 0 || rt_strncmp(p, "VmPeak:", 7) == 0)
            t->len += (u64)rt_snprintf(out, 64, "%.7s\t%8lu kB\n", p, address_space() >> 10);
        else if (rt_strncmp(p, "SigBlk:", 7) == 0)
            t->len += (u64)rt_snprintf(out, 64, "SigBlk:\t%016lx\n", rt_th(ts)->sigmask);
        else if (rt_strncmp(p, "SigIgn:", 7) == 0 || rt_strncmp(p, "SigCgt:", 7) == 0)
            t->len += (u64)rt_snprintf(out, 64, "%.7s\t%016lx\n", p, handled(ts, p[3] == 'I'));
        else {
            rt_memcpy(out, p, (u64)(next - p));
            t->len += (u64)(next - p);
        }
    }
    proc_text_free(&kernel);
    return true;
}

bool proc_text(struct tstate *ts, enum proc_leaf what, struct proc_text *out) {
    switch (what) {
    case PROC_MAPS: maps(out); return true;
    case PROC_SMAPS: return smaps(out);
    case PROC_STATUS: return status(ts, out);
    default: return false;
    }
}
