/* mm_fuzz SEED STEPS: random memory calls, checked after each against a page
 * model of the calls' meaning, against the kernel's own list of mappings, and
 * against what shadow and supervisor were told. */
#include <linux/errno.h>

#include "runtime/memory/memory.h"
#include "runtime/processes/processes.h"
#include "harness.h"

void harness_main(u64 *sp);

/* What the loader, which loads no truncated file here, says and does of one. */
void rt_warn(struct tstate *t, const char *fmt, ...) { (void)t, (void)fmt; }
void rt_die_by_signal(struct tstate *t, int sig, int code, u64 addr) {
    (void)t, (void)code, (void)addr;
    fail("signal %d", sig);
}

enum { MAPPED = 1, SHADOWED = 2, ANNOUNCED = 4, TABLED = 8, HOST = 16, TRANSLATED = 32 };
struct page {
    u64 addr; /* 0: empty */
    u32 have; /* bits above */
    u32 prot;
    u64 tag; /* first word, if anonymous and private; 0 untouched */
    u64 off; /* in its file, if one is mapped */
    u32 plain, host_prot;
};
#define SLOTS (1u << 16)
static struct page pages[SLOTS];
static struct tstate ts;
static u64 seed, step;
static int elf_fd, data_fd;
static u64 brk_lo, brk_now;

static u64 rnd(u64 n) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (seed >> 11) % n;
}

static struct page *page(u64 addr) {
    u32 h = (u32)((addr >> 12) * 0x9e3779b97f4a7c15ull >> 40) % SLOTS;
    for (u32 i = 0; i < SLOTS; i++, h = (h + 1) % SLOTS) {
        if (pages[h].addr == addr) return &pages[h];
        if (pages[h].addr == 0) {
            pages[h].addr = addr;
            return &pages[h];
        }
    }
    fail("model full");
}

static void request(u32 kind, const struct ip_slot *s) {
    for (u64 a = s->a[0]; a < s->a[0] + s->a[1]; a += RT_PAGE) {
        struct page *p = page(a);
        if (kind == IP_R_MAPPED) {
            if (p->have & ANNOUNCED) fail("0x%lx announced twice", a);
            p->have |= ANNOUNCED;
        } else if (s->a[2]) { /* replaced: to be revoked, all of it */
            p->have |= ANNOUNCED;
        } else {
            if (!(p->have & ANNOUNCED)) fail("0x%lx revoked, never announced", a);
            p->have &= ~(u32)ANNOUNCED;
        }
    }
}

static void shadow(int change, u64 addr, u64 len) {
    for (u64 a = addr; a < addr + len; a += RT_PAGE) {
        struct page *p = page(a);
        if (!(p->have & SHADOWED) != (change > 0))
            fail("shadow of 0x%lx %s twice", a, change > 0 ? "mapped" : "unmapped");
        p->have ^= SHADOWED;
    }
}

static char last[160]; /* the call being checked */
static void invalidated(u64 addr, u64 len) {
    for (u32 i = 0; i < SLOTS; i++)
        if (pages[i].addr >= addr && pages[i].addr - addr < len) pages[i].have &= ~(u32)TRANSLATED;
}

static void changes(const struct page *p) {
    if (p->have & TRANSLATED) fail("translations of 0x%lx survive", p->addr);
}

static long call(long (*fn)(struct tstate *), u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) {
    ts.gpr[IP_RDI] = a, ts.gpr[IP_RSI] = b, ts.gpr[IP_RDX] = c;
    ts.gpr[IP_R10] = d, ts.gpr[IP_R8] = e, ts.gpr[IP_R9] = f;
    rt_snprintf(last, sizeof last, "step %lu: %s(0x%lx, 0x%lx, 0x%lx, 0x%lx, 0x%lx)", step,
                fn == rt_sys_mmap       ? "mmap"
                : fn == rt_sys_munmap   ? "munmap"
                : fn == rt_sys_mprotect ? "mprotect"
                : fn == rt_sys_mremap   ? "mremap"
                                        : "brk",
                a, b, c, d, e);
    return fn(&ts);
}

/* ---- the model -------------------------------------------------------------------- */

static void model_unmap(u64 lo, u64 hi) {
    for (u64 a = lo; a < hi; a += RT_PAGE) {
        changes(page(a));
        page(a)->have &= ~(u32)MAPPED;
    }
}
static void model_map(u64 lo, u64 hi, u32 prot, bool plain, u64 off) {
    for (u64 a = lo; a < hi; a += RT_PAGE) {
        struct page *p = page(a);
        p->have |= MAPPED;
        p->prot = prot;
        p->plain = plain;
        p->tag = 0;
        p->off = off + (a - lo);
    }
}

/* ---- checks ------------------------------------------------------------------------ */

static u64 hex(const char **p) {
    u64 v = 0;
    for (;; (*p)++) {
        char c = **p;
        if (c >= '0' && c <= '9')
            v = v * 16 + (u64)(c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v * 16 + (u64)(c - 'a' + 10);
        else
            return v;
    }
}

static void read_host_maps(void) {
    static char text[1 << 20];
    long fd = sys3(__NR_open, (long)"/proc/self/maps", 0, 0), n = 0, r;
    while ((r = sys3(__NR_read, fd, (long)(text + n), (long)sizeof text - n - 1)) > 0) n += r;
    sys1(__NR_close, fd);
    text[n] = 0;
    for (const char *p = text; *p; p++) {
        u64 lo = hex(&p);
        p++;
        u64 hi = hex(&p);
        u32 prot = (p[1] == 'r' ? 1u : 0) | (p[2] == 'w' ? 2u : 0) | (p[3] == 'x' ? 4u : 0);
        while (*p != '\n') p++;
        if (!mm_allowed(lo, hi - lo)) continue;
        for (u64 a = lo; a < hi; a += RT_PAGE) {
            page(a)->have |= HOST;
            page(a)->host_prot = prot;
        }
    }
}

/* The highest and the lowest free place, by a look at every gap. */
static u64 highest_free(u64 len, u64 align) {
    u64 top = mm_high_top;
    for (u32 i = rt_nsegs;; i--) {
        u64 bottom = i && rt_segs[i - 1].hi > IP_CLIENT_LO ? rt_segs[i - 1].hi : IP_CLIENT_LO;
        u64 at = RT_ROUND_DOWN(top - len, align);
        if (top > bottom && top - bottom >= len && at >= bottom) return at;
        if (bottom == IP_CLIENT_LO) return 0;
        if (rt_segs[i - 1].lo < top) top = rt_segs[i - 1].lo;
    }
}

static u64 lowest_free(u64 len, u64 align) {
    u64 at = IP_IMAGES_LO;
    for (u32 i = 0; i < rt_nsegs && rt_segs[i].lo < at + len + RT_PAGE; i++)
        if (rt_segs[i].hi > IP_IMAGES_LO) at = RT_ROUND_UP(rt_segs[i].hi + RT_PAGE, align);
    return at + len <= IP_IMAGES_HI ? at : 0;
}

static void check_places(void) {
    static const u64 aligns[] = {RT_PAGE, RT_PAGE, 16 * RT_PAGE, 2ull << 20};
    for (int i = 0; i < 4; i++) {
        u64 len = (1 + rnd(30)) * RT_PAGE, align = aligns[rnd(4)];
        u64 high = mm_place_high(len, align), low = mm_place_32bit(len, align);
        if (high != highest_free(len, align))
            fail("place for 0x%lx: 0x%lx, not 0x%lx, after %s", len, high, highest_free(len, align), last);
        if (low != lowest_free(len, align))
            fail("low place for 0x%lx: 0x%lx, not 0x%lx, after %s", len, low, lowest_free(len, align), last);
    }
}

static void check(void) {
    check_places();
    for (u32 i = 0; i < SLOTS; i++) pages[i].have &= ~(u32)(TABLED | HOST);
    for (u32 i = 0; i < rt_nsegs; i++) {
        struct rt_seg *s = &rt_segs[i];
        if (s->lo >= s->hi || s->lo % RT_PAGE || s->hi % RT_PAGE || !mm_allowed(s->lo, s->hi - s->lo))
            fail("segment %u 0x%lx-0x%lx", i, s->lo, s->hi);
        if (i && rt_segs[i - 1].hi > s->lo) fail("segments %u and %u overlap", i - 1, i);
        for (u64 a = s->lo; a < s->hi; a += RT_PAGE) {
            struct page *p = page(a);
            p->have |= TABLED;
            if (p->prot != s->prot) fail("0x%lx: protection %u in the table, %u expected", a, s->prot, p->prot);
            if (s->kind == RT_SEG_FILE && p->off != s->off + (a - s->lo))
                fail("0x%lx: offset 0x%lx, expected 0x%lx", a, s->off + (a - s->lo), p->off);
            if (!(p->have & ANNOUNCED) != !(s->mflags & MM_ANNOUNCED)) fail("0x%lx: announced or not?", a);
        }
    }
    read_host_maps();
    for (u32 i = 0; i < SLOTS; i++) {
        struct page *p = &pages[i];
        u32 all = MAPPED | SHADOWED | TABLED | HOST;
        if ((p->have & all) != 0 && (p->have & all) != all)
            fail("0x%lx: mapped %u, shadow %u, table %u, host %u after %s", p->addr, !!(p->have & MAPPED),
                 !!(p->have & SHADOWED), !!(p->have & TABLED), !!(p->have & HOST), last);
        if (!(p->have & MAPPED)) continue;
        if (p->prot & PROT_EXEC) p->have |= TRANSLATED; /* as if it had run */
        u32 want = mm_host_prot(p->prot);
        if (p->host_prot != want && p->host_prot != (want & ~(u32)PROT_WRITE))
            fail("0x%lx: host protection %u, guest %u", p->addr, p->host_prot, p->prot);
        if (p->plain && p->tag && (want & PROT_READ) && *(u64 *)p->addr != p->tag)
            fail("0x%lx holds 0x%lx instead of 0x%lx", p->addr, *(u64 *)p->addr, p->tag);
    }
}

static void scribble(u64 lo, u64 hi) {
    for (u64 a = lo; a < hi; a += RT_PAGE) {
        struct page *p = page(a);
        if (!p->plain || !(p->have & MAPPED) || !(p->prot & PROT_WRITE) || rnd(2)) continue;
        if (rnd(4) == 0) {
            rt_protect_code_page(&ts, a);
            if (!rt_code_page_fault(&ts, a + 8)) fail("write to protected page 0x%lx not recognised", a);
        }
        rt_open_code_pages(&ts, a, 8);
        p->tag = (step << 20) | (a >> 12 & 0xfffff) | 1ull << 63;
        *(u64 *)a = p->tag;
        if (rnd(4) == 0) {
            rt_protect_code_page(&ts, a);
            p->have |= TRANSLATED;
        }
    }
}

/* ---- the calls ------------------------------------------------------------------------- */

static u64 somewhere(void) { /* a page in or near what exists */
    if (rt_nsegs == 0 || rnd(16) == 0) return IP_CLIENT_LO + (1ull << 40) + rnd(256) * RT_PAGE;
    struct rt_seg *s = &rt_segs[rnd(rt_nsegs)];
    return s->lo + rnd((s->hi - s->lo) / RT_PAGE) * RT_PAGE - (rnd(8) == 0 ? RT_PAGE : 0);
}

static void do_mmap(void) {
    static const u32 prots[] = {0, 1, 3, 3, 3, 5, 7};
    u32 prot = prots[rnd(7)], flags = MAP_PRIVATE, fixed = 0;
    u64 len = 1 + rnd(40 * RT_PAGE), hint = 0, off = 0;
    int fd = -1;
    switch (rnd(6)) {
    case 0:
        fd = elf_fd;
        prot &= 5;
        break;
    case 1:
        fd = data_fd;
        off = rnd(8) * RT_PAGE;
        break;
    case 2: flags = MAP_SHARED | MAP_ANONYMOUS; break;
    default: flags |= MAP_ANONYMOUS;
    }
    if (rnd(3) == 0) {
        fixed = rnd(3) ? MAP_FIXED : MAP_FIXED_NOREPLACE;
        hint = somewhere();
    } else if (rnd(3) == 0) {
        hint = somewhere() + 1;
    }
    u64 hi = RT_ROUND_UP(hint + len, RT_PAGE);
    bool occupied = false;
    for (u64 a = hint; fixed && a < hi; a += RT_PAGE) occupied |= (page(a)->have & MAPPED) != 0;
    bool ours = !mm_allowed(hint, hi - hint);
    long r = call(rt_sys_mmap, hint, len, prot, flags | fixed, (u64)fd, off);
    if (fixed && ours                              ? r != -ENOMEM
        : fixed == MAP_FIXED_NOREPLACE && occupied ? r != -EEXIST
                                                   : r < 0 || (fixed && (u64)r != hint))
        fail("mmap(0x%lx, 0x%lx, %u, 0x%x, %d) = %ld", hint, len, prot, flags | fixed, fd, r);
    if (r < 0) return;
    u64 at = (u64)r, end = at + RT_ROUND_UP(len, RT_PAGE);
    if (!fixed)
        for (u64 a = at; a < end; a += RT_PAGE)
            if (page(a)->have & MAPPED) fail("mmap chose 0x%lx, taken", a);
    bool low = fd >= 0 ? (prot & PROT_EXEC) || (fd == elf_fd && prot) : (prot & PROT_EXEC) != 0;
    if (!hint && low != (at < IP_IMAGES_HI)) fail("mmap(prot %u, fd %d) placed at 0x%lx", prot, fd, at);
    model_unmap(at, end);
    model_map(at, end, prot, fd < 0 && (flags & MAP_PRIVATE), off);
    scribble(at, end);
}

static void do_munmap(void) {
    u64 lo = somewhere(), hi = lo + (1 + rnd(30)) * RT_PAGE;
    long r = call(rt_sys_munmap, lo, hi - lo - rnd(RT_PAGE), 0, 0, 0, 0);
    if (r != 0) fail("munmap(0x%lx) = %ld", lo, r);
    model_unmap(lo, hi);
}

static void do_mprotect(void) {
    static const u32 prots[] = {0, 1, 3, 5, 7, 3};
    u64 lo = somewhere(), hi = lo + (1 + rnd(20)) * RT_PAGE, end = lo;
    u32 prot = prots[rnd(6)];
    while (end < hi && (page(end)->have & MAPPED)) end += RT_PAGE;
    long r = call(rt_sys_mprotect, lo, hi - lo, prot, 0, 0, 0);
    if (r != (end < hi ? -ENOMEM : 0)) fail("mprotect(0x%lx, 0x%lx, %u) = %ld", lo, hi - lo, prot, r);
    for (u64 a = lo; a < end; a += RT_PAGE)
        if (page(a)->prot != prot) {
            changes(page(a));
            page(a)->prot = prot;
        }
    scribble(lo, end);
}

static void do_mremap(void) {
    u64 old = somewhere(), old_len = (1 + rnd(12)) * RT_PAGE, new_len = (1 + rnd(16)) * RT_PAGE;
    u64 flags = rnd(4) ? MREMAP_MAYMOVE : 0, dest = 0;
    if (flags && rnd(4) == 0) {
        flags |= 4 /* DONTUNMAP */;
        new_len = old_len;
    }
    if (flags && rnd(4) == 0) {
        flags |= MREMAP_FIXED;
        dest = somewhere();
        if (rnd(2)) dest += 64 * RT_PAGE;
    }
    u32 first = mm_first(old);
    bool one_segment = first < rt_nsegs && rt_segs[first].lo <= old && rt_segs[first].hi >= old + old_len;
    static struct page moved[32];
    for (u64 i = 0; i < old_len / RT_PAGE; i++) moved[i] = *page(old + i * RT_PAGE);
    long r = call(rt_sys_mremap, old, old_len, new_len, flags, dest, 0);
    if (r < 0) {
        /* The kernel may refuse (several mappings); a fixed target may be gone by then,
         * and so may the tail of a range that was to shrink. */
        /* Neighbours that were moved do not merge in the kernel; protections that we
         * changed behind the guest's back must not be what keeps them apart. */
        if (r == -EFAULT && one_segment && page(old)->plain) {
            read_host_maps();
            for (u64 a = old; a < old + old_len; a += RT_PAGE)
                if (page(a)->host_prot != page(old)->host_prot)
                    fail("mremap(0x%lx, 0x%lx, 0x%lx, %lu) = %ld", old, old_len, new_len, flags, r);
        }
        for (u32 i = 0; i < SLOTS; i++) {
            bool tabled = pages[i].addr && !mm_is_free(pages[i].addr, pages[i].addr + RT_PAGE);
            bool target = (flags & MREMAP_FIXED) && pages[i].addr >= dest && pages[i].addr < dest + new_len;
            bool tail = pages[i].addr >= old + new_len && pages[i].addr < old + old_len;
            if (!tabled && (pages[i].have & MAPPED) && (target || tail))
                changes(&pages[i]), pages[i].have &= ~(u32)MAPPED;
        }
        return;
    }
    u64 at = (u64)r, kept = old_len < new_len ? old_len : new_len;
    if (!page(old)->addr || !(moved[0].have & MAPPED)) fail("mremap of nothing at 0x%lx = 0x%lx", old, at);
    if ((flags & MREMAP_FIXED) && new_len == old_len) { /* also of several mappings, with the gaps between them */
        for (u64 i = 0; i < new_len / RT_PAGE; i++) {
            u64 from = old + i * RT_PAGE, to = at + i * RT_PAGE;
            if (!(moved[i].have & MAPPED)) continue;
            model_unmap(to, to + RT_PAGE);
            model_unmap(from, from + RT_PAGE);
            if (flags & 4) model_map(from, from + RT_PAGE, moved[i].prot, moved[i].plain, moved[i].off);
            model_map(to, to + RT_PAGE, moved[i].prot, moved[i].plain, moved[i].off);
            page(to)->tag = moved[i].tag;
        }
        scribble(at, at + new_len);
        return;
    }
    if (at != old || (flags & 4)) {
        model_unmap(at, at + new_len);
        if (flags & 4) {
            model_unmap(old, old + old_len);
            model_map(old, old + old_len, moved[0].prot, moved[0].plain, moved[0].off);
        } else {
            model_unmap(old, old + old_len);
        }
    } else {
        model_unmap(old + kept, old + old_len);
    }
    /* In place, the kernel looks at the first page only when it shrinks. */
    for (u64 i = at == old && !(flags & 4) ? kept / RT_PAGE : 0; i < new_len / RT_PAGE; i++) {
        struct page *p = page(at + i * RT_PAGE);
        p->have |= MAPPED;
        p->prot = i < kept / RT_PAGE ? moved[i].prot : moved[0].prot;
        p->plain = moved[0].plain;
        p->off = moved[0].off + i * RT_PAGE;
        p->tag = i < kept / RT_PAGE ? moved[i].tag : 0;
    }
    scribble(at, at + new_len);
}

static void do_brk(void) {
    u64 want = brk_lo + rnd(64 * RT_PAGE);
    u64 old_end = RT_ROUND_UP(brk_now, RT_PAGE), end = RT_ROUND_UP(want, RT_PAGE);
    bool free_above = true;
    for (u64 a = old_end; a < end; a += RT_PAGE) free_above &= !(page(a)->have & MAPPED);
    long r = call(rt_sys_brk, want, 0, 0, 0, 0, 0);
    if ((u64)r != (end > old_end && !free_above ? brk_now : want)) fail("brk(0x%lx) = 0x%lx", want, (u64)r);
    if ((u64)r != want) return;
    if (end > old_end)
        model_map(old_end, end, 3, true, 0);
    else
        model_unmap(end, old_end);
    brk_now = want;
}

static u64 number(const char *s) {
    u64 n = 0;
    while (*s >= '0' && *s <= '9') n = n * 10 + (u64)(*s++ - '0');
    return n;
}

void harness_main(u64 *sp) {
    if (sp[0] != 3) fail("usage: mm_fuzz SEED STEPS");
    seed = number((char *)sp[2]) * 0x9e3779b97f4a7c15ull + 1;
    u64 steps = number((char *)sp[3]);
    rt.chan = rt_pages(sizeof *rt.chan);
    rt.flags = IP_C_SHADOW;
    on_request = request;
    on_shadow = shadow;
    on_invalidate = invalidated;
    rt_mm_init(&ts);
    elf_fd = (int)sys3(__NR_open, (long)"/proc/self/exe", 0, 0);
    data_fd = (int)sys2(__NR_memfd_create, (long)"data", 0);
    sys2(__NR_ftruncate, data_fd, 64 * RT_PAGE);
    brk_lo = brk_now = (u64)call(rt_sys_brk, 0, 0, 0, 0, 0, 0);
    for (step = 1; step <= steps; step++) {
        switch (rnd(10)) {
        case 0:
        case 1:
        case 2: do_mmap(); break;
        case 3:
        case 4: do_munmap(); break;
        case 5:
        case 6: do_mprotect(); break;
        case 7:
        case 8: do_mremap(); break;
        default: do_brk();
        }
        check();
    }
    say("ok %u segments, %lu invalidations\n", rt_nsegs, invalidations);
    sys1(__NR_exit_group, 0);
}
