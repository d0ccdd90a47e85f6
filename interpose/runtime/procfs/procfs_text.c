/* maps, smaps, smaps_rollup and numa_maps of the guest: what the kernel says,
 * without what is ours (proc_pid_maps(5), proc_pid_smaps(5), proc_pid_numa_maps(5)).
 */
#include <asm/unistd.h>
#include <linux/fcntl.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/loader/image.h"
#include "runtime/memory/mm.h"
#include "runtime/procfs/procfs.h"

#define LINE_ROOM   (4096 + 128)
#define NAME_COLUMN 73 /* where the kernel begins a mapping's name */
#define MAX_FIELDS  40

void proc_text_free(struct proc_text *t) {
    if (t->at) rt_free_pages(t->at, t->room);
    *t = (struct proc_text){0};
}

void proc_reserve(struct proc_text *t, u64 bytes) {
    t->room = RT_ROUND_UP(bytes, RT_PAGE);
    t->at = rt_pages(t->room); /* untouched pages cost nothing */
}

/* ---- reading the kernel's ---------------------------------------------------------------------- */

bool proc_read_kernel(int fd, struct proc_text *t, u64 room) {
    long n;
    proc_reserve(t, room);
    while ((n = sys4(__NR_pread64, fd, (long)(t->at + t->len), (long)(t->room - 1 - t->len), (long)t->len)) > 0)
        t->len += (u64)n;
    t->at[t->len] = 0;
    return n == 0;
}

static bool read_smaps(struct proc_text *t) {
    long fd = sys4(__NR_openat, AT_FDCWD, (long)"/proc/self/smaps", O_RDONLY | O_CLOEXEC, 0);
    bool ok = fd >= 0 && proc_read_kernel((int)fd, t, 256ull << 20);
    if (fd >= 0) sys1(__NR_close, fd);
    return ok;
}

static u64 hex(const char **p) {
    u64 v = 0;
    for (;; (*p)++) {
        char c = **p;
        u64 d = c >= '0' && c <= '9' ? (u64)(c - '0') : c >= 'a' && c <= 'f' ? (u64)(c - 'a') + 10 : 16;
        if (d == 16) return v;
        v = v << 4 | d;
    }
}

static u64 decimal(const char *p) {
    u64 v = 0;
    while (*p == ' ') p++;
    for (; *p >= '0' && *p <= '9'; p++) v = v * 10 + (u64)(*p - '0');
    return v;
}

const char *proc_next_line(const char *p) {
    while (*p && *p != '\n') p++;
    return *p ? p + 1 : p;
}

static bool is_header(const char *p) { return (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); }

/* ---- maps ------------------------------------------------------------------------------------ */

static bool is_shared_anonymous(const struct rt_seg *s) { return s->kind == RT_SEG_ANON && (s->mflags & MM_SHARED); }

bool proc_mapping_is_shmem(const struct rt_seg *s) { return s->kind == RT_SEG_SHM || is_shared_anonymous(s); }

bool proc_mapping_has_file(const struct rt_seg *s) { return s->kind == RT_SEG_FILE || proc_mapping_is_shmem(s); }

const char *proc_mapping_name(const struct rt_seg *s) {
    return s->kind == RT_SEG_STACK  ? "[stack]"
           : s->kind == RT_SEG_BRK  ? "[heap]"
           : s->path                ? rt_paths + s->path
           : s->kind == RT_SEG_SHM  ? "/SYSV00000000 (deleted)"
           : is_shared_anonymous(s) ? "/dev/zero (deleted)"
                                    : "";
}

/* What the kernel's line says of the address; *at: the first line that may, for addresses that rise. */
static u64 kernels_inode(const char **at, u64 addr) {
    for (const char *p; *(p = *at); *at = proc_next_line(p)) {
        if (!is_header(p)) continue;
        u64 lo = hex(&p);
        p++;
        u64 hi = hex(&p);
        if (hi <= addr) continue;
        for (int word = 0; word < 4; p++) word += *p == ' '; /* permissions, offset, device */
        return lo <= addr ? decimal(p) : 0;
    }
    return 0;
}

static u64 maps_line(char *out, const struct rt_seg *s, const char **kernel) {
    const char *name = proc_mapping_name(s);
    bool file = proc_mapping_has_file(s);
    u32 major = s->kind == RT_SEG_FILE ? proc_major(s->dev) : 0;
    u32 minor = s->kind == RT_SEG_FILE ? proc_minor(s->dev) : file ? 1 : 0;
    u64 ino = is_shared_anonymous(s) ? kernels_inode(kernel, s->lo) : file ? s->ino : 0;
    u64 n = (u64)rt_snprintf(out, LINE_ROOM, "%08lx-%08lx %c%c%c%c %08lx %02x:%02x %lu ", rt_stack_shown(s), s->hi,
                             s->prot & PROT_READ ? 'r' : '-', s->prot & PROT_WRITE ? 'w' : '-',
                             s->prot & PROT_EXEC ? 'x' : '-', s->mflags & MM_SHARED ? 's' : 'p', file ? s->off : 0,
                             major, minor, ino);
    if (*name)
        while (n < NAME_COLUMN) out[n++] = ' ';
    return n + (u64)rt_snprintf(out + n, LINE_ROOM - n, "%s\n", name);
}

bool proc_maps_text(int fd, struct proc_text *t) {
    struct proc_text kernel = {.at = (char *)""};
    bool asked = false;
    rt_mm_lock();
    for (u32 i = 0; i < rt_nsegs && !asked; i++) asked = is_shared_anonymous(&rt_segs[i]);
    bool ok = !asked || proc_read_kernel(fd, &kernel, 256ull << 20);
    if (ok) {
        const char *at = kernel.at;
        proc_reserve(t, (u64)(rt_nsegs + 1) * LINE_ROOM);
        for (u32 i = 0; i < rt_nsegs; i++)
            if (!(rt_segs[i].mflags & MM_OURS)) t->len += maps_line(t->at + t->len, &rt_segs[i], &at);
        t->len += (u64)rt_snprintf(t->at + t->len, LINE_ROOM, "%s", rt_vsyscall_line());
    }
    rt_mm_unlock();
    if (asked) proc_text_free(&kernel);
    return ok;
}

/* ---- smaps --------------------------------------------------------------------------------------- */

struct smaps_field {
    const char *name; /* up to the colon */
    u32 name_len;
    bool amount; /* kB that add up over a mapping's parts */
    u64 value;
};

static bool adds_up(const char *name, u32 len) {
    static const char *const fixed[] = {"KernelPageSize", "MMUPageSize", "THPeligible", "ProtectionKey"};
    for (u32 i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (rt_strlen(fixed[i]) == len && rt_strncmp(fixed[i], name, len) == 0) return false;
    return true;
}

/* Add share of one kernel mapping's fields (from p on); its flags' line. */
static const char *add_fields(const char *p, struct smaps_field *f, u32 *count, u64 share, u64 whole) {
    const char *flags = NULL;
    for (u32 n = 0; *p && !is_header(p); p = proc_next_line(p)) {
        u32 len = 0;
        while (p[len] && p[len] != ':' && p[len] != '\n') len++;
        if (rt_strncmp(p, "VmFlags", 7) == 0) {
            flags = p;
            continue;
        }
        if (p[len] != ':' || n == MAX_FIELDS) continue;
        u64 v = decimal(p + len + 1);
        if (n == *count) f[(*count)++] = (struct smaps_field){p, len, adds_up(p, len), 0};
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
    static const struct {
        u32 bit;
        const char *name;
    } own[] = {{PROT_READ, " rd"}, {PROT_WRITE, " wr"}, {PROT_EXEC, " ex"}};
    for (u32 i = 0; i < 3; i++)
        if (prot & own[i].bit) n += (u64)rt_snprintf(out + n, LINE_ROOM - n, "%s", own[i].name);
    for (const char *p = kernel + 8; *p && *p != '\n'; p++) {
        if (*p == ' ') continue;
        bool ours = (p[0] == 'r' && p[1] == 'd') || (p[0] == 'w' && p[1] == 'r') || (p[0] == 'd' && p[1] == 'd');
        if (!ours) n += (u64)rt_snprintf(out + n, LINE_ROOM - n, " %.2s", p);
        p++;
    }
    return n + (u64)rt_snprintf(out + n, LINE_ROOM - n, " \n");
}

/* One mapping of the guest; *at: the first of the kernel's that may touch it. */
static u64 smaps_entry(char *out, const struct rt_seg *s, const char **at) {
    struct smaps_field f[MAX_FIELDS];
    const char *flags = NULL, *p = *at, *header = p;
    u32 count = 0;
    while (*p) {
        const char *q = p;
        u64 lo = hex(&q);
        q++;
        u64 hi = hex(&q);
        const char *body = proc_next_line(q), *next = body;
        while (*next && !is_header(next)) next = proc_next_line(next);
        if (lo >= s->hi) break;
        if (hi > s->lo) {
            u64 a = lo > s->lo ? lo : s->lo, b = hi < s->hi ? hi : s->hi;
            const char *fl = add_fields(body, f, &count, b - a, hi - lo);
            flags = flags ? flags : fl;
        }
        if (hi <= s->hi) *at = next;
        p = next;
    }
    u64 n = maps_line(out, s, &header);
    for (u32 i = 0; i < count; i++) {
        bool size = f[i].name_len == 4 && rt_strncmp(f[i].name, "Size", 4) == 0;
        bool unit = f[i].amount || f[i].name[1] != 'H';               /* THPeligible is a plain number */
        if (f[i].name[0] == 'P' && f[i].name[1] == 'r') unit = false; /* ProtectionKey */
        char head[32];
        rt_snprintf(head, sizeof head, "%.*s:", (int)f[i].name_len, f[i].name);
        n += (u64)rt_snprintf(out + n, LINE_ROOM, "%-16s%8lu%s\n", head,
                              size ? (s->hi - rt_stack_shown(s)) >> 10 : f[i].value, unit ? " kB" : "");
    }
    return flags ? n + flags_line(out + n, flags, s->prot) : n;
}

bool proc_smaps_text(int fd, struct proc_text *t) {
    struct proc_text kernel = {0};
    rt_mm_lock();
    bool ok = proc_read_kernel(fd, &kernel, 256ull << 20);
    if (ok) {
        const char *at = kernel.at;
        proc_reserve(t, (u64)(rt_nsegs + 1) * (LINE_ROOM + MAX_FIELDS * 64));
        for (u32 i = 0; i < rt_nsegs; i++)
            if (!(rt_segs[i].mflags & MM_OURS)) t->len += smaps_entry(t->at + t->len, &rt_segs[i], &at);
    }
    rt_mm_unlock();
    proc_text_free(&kernel);
    return ok;
}

/* ---- sums over smaps ------------------------------------------------------------------------------- */

struct kernel_entry {
    u64 lo, hi;
    const char *body;
};

static bool next_entry(const char **p, struct kernel_entry *e) {
    if (!**p) return false;
    e->lo = hex(p);
    (*p)++;
    e->hi = hex(p);
    e->body = proc_next_line(*p);
    for (*p = e->body; **p && !is_header(*p);) *p = proc_next_line(*p);
    return true;
}

/* How much of [lo, hi) is the guest's; one of its segments there.  Under the lock. */
static u64 guests_share(u64 lo, u64 hi, const struct rt_seg **seg) {
    u64 sum = 0;
    for (u32 i = mm_first(lo); i < rt_nsegs && rt_segs[i].lo < hi; i++) {
        const struct rt_seg *s = &rt_segs[i];
        if (s->mflags & MM_OURS) continue;
        sum += (s->hi < hi ? s->hi : hi) - (s->lo > lo ? s->lo : lo);
        *seg = s;
    }
    return sum;
}

static u64 field_value(const struct smaps_field *f, u32 count, const char *name) {
    u64 len = rt_strlen(name);
    for (u32 i = 0; i < count; i++)
        if (f[i].name_len == len && rt_strncmp(f[i].name, name, len) == 0) return f[i].value;
    return 0;
}

/* Sum up every entry; the sums point into the text. */
static bool sum_up(struct proc_text *kernel, struct smaps_field *sum, u32 *count, struct proc_usage *u, u64 pss[3]) {
    struct kernel_entry e;
    if (!read_smaps(kernel)) return false;
    rt_mm_lock();
    for (const char *p = kernel->at; next_entry(&p, &e);) {
        const struct rt_seg *s = NULL;
        u64 share = guests_share(e.lo, e.hi, &s);
        if (share == 0) continue;
        struct smaps_field f[MAX_FIELDS];
        u32 n = 0;
        (void)add_fields(e.body, f, &n, share, e.hi - e.lo);
        (void)add_fields(e.body, sum, count, share, e.hi - e.lo);
        u64 rss = field_value(f, n, "Rss"), anon = field_value(f, n, "Anonymous"), all = field_value(f, n, "Pss");
        u64 rest = rss > anon ? rss - anon : 0, part = rss ? all * anon / rss : 0;
        bool shmem = proc_mapping_is_shmem(s);
        u->rss += rss, u->anon += anon;
        *(shmem ? &u->shmem : &u->file) += rest;
        pss[0] += part;
        pss[shmem ? 2 : 1] += all - part;
    }
    rt_mm_unlock();
    return true;
}

bool proc_usage_by_text(struct proc_usage *u) {
    struct proc_text kernel = {0};
    struct smaps_field sum[MAX_FIELDS];
    u32 count = 0;
    u64 pss[3] = {0, 0, 0};
    *u = (struct proc_usage){0, 0, 0, 0};
    bool ok = sum_up(&kernel, sum, &count, u, pss);
    proc_text_free(&kernel);
    return ok;
}

bool proc_rollup_text(int fd, struct proc_text *t) {
    struct proc_text kernel = {0}, model = {0};
    struct smaps_field sum[MAX_FIELDS];
    struct proc_usage u = {0, 0, 0, 0};
    u32 count = 0;
    u64 pss[3] = {0, 0, 0};
    bool ok = proc_read_kernel(fd, &model, 16384) && sum_up(&kernel, sum, &count, &u, pss);
    if (ok) {
        proc_reserve(t, 16384);
        u64 lo = 0, hi = 0;
        rt_mm_lock();
        for (u32 i = rt_nsegs; i-- > 0;)
            if (!(rt_segs[i].mflags & MM_OURS)) lo = rt_segs[i].lo, hi = hi ? hi : rt_segs[i].hi;
        rt_mm_unlock();
        t->len = (u64)rt_snprintf(t->at, 256, "%08lx-%08lx ---p 00000000 00:00 0", lo, hi);
        while (t->len < NAME_COLUMN) t->at[t->len++] = ' ';
        t->len += (u64)rt_snprintf(t->at + t->len, 64, "[rollup]\n");
        static const char *const kinds[] = {"Pss_Anon", "Pss_File", "Pss_Shmem"};
        for (const char *p = proc_next_line(model.at); *p; p = proc_next_line(p)) {
            char name[32];
            u32 n = 0;
            for (; p[n] && p[n] != ':' && n < sizeof name - 2; n++) name[n] = p[n];
            name[n] = 0;
            u64 v = field_value(sum, count, name);
            for (u32 i = 0; i < 3; i++)
                if (rt_strcmp(name, kinds[i]) == 0) v = pss[i];
            name[n] = ':', name[n + 1] = 0;
            t->len += (u64)rt_snprintf(t->at + t->len, 64, "%-16s%8lu kB\n", name, v);
        }
    }
    proc_text_free(&kernel);
    proc_text_free(&model);
    return ok;
}

/* ---- numa_maps --------------------------------------------------------------------------------------- */

bool proc_numa_text(int fd, struct proc_text *t) {
    struct proc_text kernel = {0};
    bool ok = proc_read_kernel(fd, &kernel, 64ull << 20);
    if (ok) {
        proc_reserve(t, kernel.len + 1);
        rt_mm_lock();
        for (const char *p = kernel.at, *next; *p; p = next) {
            const char *q = p;
            const struct rt_seg *s = NULL;
            u64 lo = hex(&q);
            next = proc_next_line(p);
            if (guests_share(lo, lo + RT_PAGE, &s) == 0) continue;
            memcpy(t->at + t->len, p, (u64)(next - p));
            t->len += (u64)(next - p);
        }
        rt_mm_unlock();
    }
    proc_text_free(&kernel);
    return ok;
}

bool proc_text(struct tstate *ts, struct proc_file file, int fd, struct proc_text *out) {
    const char *words = NULL;
    u64 n = 0;
    switch (file.leaf) {
    case PROC_MAPS: return proc_maps_text(fd, out);
    case PROC_SMAPS: return proc_smaps_text(fd, out);
    case PROC_SMAPS_ROLLUP: return proc_rollup_text(fd, out);
    case PROC_NUMA_MAPS: return proc_numa_text(fd, out);
    case PROC_STATUS: return proc_status_text(ts, file.tid, fd, out);
    case PROC_STAT: return proc_stat_text(fd, out);
    case PROC_STATM: return proc_statm_text(fd, out);
    case PROC_LIMITS: return proc_limits_text(fd, out);
    case PROC_AUXV: words = (const char *)rt_auxv, n = rt_auxv_words * sizeof *rt_auxv; break;
    case PROC_CMDLINE: words = (const char *)rt.arg_start, n = rt.arg_end - rt.arg_start; break;
    case PROC_ENVIRON: words = (const char *)rt.arg_end, n = rt.env_end - rt.arg_end; break;
    default: return false;
    }
    proc_reserve(out, n + 1);
    out->len = rt_copy_from(out->at, (u64)words, n) == 0 ? n : 0;
    return true;
}
