/* The vDSO: code and data that the kernel maps into each process, through which
 * the clock is read without a system call (vdso(7)).  It is moved into the
 * program's range, data and code together, as checkpoint tools do: only there it
 * is the program's to find, and translated like any code.
 *
 * Under a tool with shadow memory the program is told of none: its time calls
 * stay system calls, whose arguments are checked and whose errors have names.
 */
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

#include "runtime/memory/memory.h"
#include "runtime/loader/image.h"
#include "runtime/memory/mm.h"

#define MAX_PARTS 8
#define TEXT_ROOM (64ull << 10)

struct part {
    u64 lo, hi;
    const char *name;
    u32 prot;
};

static u64 hex(const char **p) {
    u64 v = 0;
    for (;; (*p)++) {
        char c = **p;
        if (c >= '0' && c <= '9')
            v = v << 4 | (u64)(c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v << 4 | (u64)(c - 'a' + 10);
        else
            return v;
    }
}

static bool ends_with(const char *line, u64 len, const char *name) {
    u64 n = rt_strlen(name);
    return len >= n && memcmp(line + len - n, name, n) == 0;
}

/* Its mappings in ascending order, from the kernel's list; they must touch. */
static u32 find_parts(char *text, struct part *parts) {
    static const char *const names[] = {"[vvar]", "[vvar_vclock]", "[vdso]"};
    u64 len = 0;
    u32 n = 0;
    long fd = sys4(__NR_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0), r;
    if (fd < 0) return 0;
    while ((r = sys3(__NR_read, fd, (long)(text + len), (long)(TEXT_ROOM - 1 - len))) > 0) len += (u64)r;
    sys1(__NR_close, fd);
    text[len] = 0;
    for (const char *line = text, *end; *line && n < MAX_PARTS; line = *end ? end + 1 : end) {
        for (end = line; *end && *end != '\n';) end++;
        for (u32 i = 0; i < 3; i++)
            if (ends_with(line, (u64)(end - line), names[i])) {
                const char *p = line;
                struct part q = {.name = names[i], .prot = i == 2 ? PROT_READ | PROT_EXEC : PROT_READ};
                q.lo = hex(&p);
                p++;
                q.hi = hex(&p);
                if (n > 0 && parts[n - 1].hi != q.lo) return 0;
                parts[n++] = q;
            }
    }
    return n;
}

u64 rt_move_vdso(struct tstate *ts, u64 at) {
    struct part parts[MAX_PARTS];
    if (at == 0 || (rt.flags & (IP_C_SHADOW | IP_C_NO_VDSO))) return 0;
    char *text = rt_pages(TEXT_ROOM);
    u32 n = find_parts(text, parts);
    rt_free_pages(text, TEXT_ROOM);
    if (n == 0 || parts[n - 1].lo != at) return 0;
    u64 lo = parts[0].lo, len = parts[n - 1].hi - lo;
    rt_mm_lock();
    u64 to = mm_place_low(len, RT_PAGE);
    if (to == 0) to = mm_place_high(len, RT_PAGE);
    bool ok = to != 0;
    /* The code last: it says whether all of it came (a kernel may seal these mappings). */
    for (u32 i = 0; i < n && ok; i++) {
        struct part *p = &parts[i];
        u64 size = p->hi - p->lo, place = to + (p->lo - lo);
        struct rt_seg s = {.lo = place, .hi = place + size, .prot = p->prot, .kind = RT_SEG_ANON};
        ok = sys5(__NR_mremap, (long)p->lo, (long)size, (long)size, MREMAP_MAYMOVE | MREMAP_FIXED, (long)place) ==
             (long)place;
        if (!ok) break;
        s.path = mm_intern_path(p->name);
        s.mflags = place < IP_IMAGES_HI ? MM_LOW : 0;
        mm_added(ts, &s, MM_WITH_SHADOW);
    }
    rt_mm_unlock();
    return ok ? to + (at - lo) : 0;
}
