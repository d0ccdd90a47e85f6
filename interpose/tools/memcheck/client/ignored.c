/* Where invalid accesses are not reported: --ignore-ranges, --ignore-range-below-sp, --workaround-gcc296-bugs and the
 * requests {DISABLE,ENABLE}_ADDR_ERROR_REPORTING_IN_RANGE.
 *
 * It is decided here and before the error is recorded, because a repeated error is one whose kind and stack are the
 * same, whatever its address: the same instruction may access ignored memory first and other memory later.
 */
#include "interpose/memcheck_numbers.h"
#include "runtime/hooks.h"
#include "tools/memcheck/client/memcheck.h"

enum kind { BY_OPTION, BY_REQUEST, REPORTED };

rt_lock_t mc_ignored_lock;
static struct mc_ranges *const ignored = &mc_root.ignored; /* neighbours of one kind are one range */
static u64 capacity;
static bool options_known;
static struct mc_below_sp below;

static struct mc_range *ranges(void) { return (struct mc_range *)ignored->at; }

static void make_room(u64 count) {
    if (count <= capacity) return;
    u64 more = capacity ? 2 * capacity : RT_PAGE / sizeof(struct mc_range);
    struct mc_range *room = rt_pages(more * sizeof *room);
    if (capacity) {
        memcpy(room, ranges(), ignored->count * sizeof *room);
        rt_free_pages(ranges(), capacity * sizeof *room);
    }
    ignored->at = (u64)room;
    capacity = more;
}

/* The first range that ends at addr or above. */
static u64 find(u64 addr) {
    u64 lo = 0, hi = ignored->count;
    while (lo < hi) {
        u64 mid = lo + (hi - lo) / 2;
        if (ranges()[mid].hi < addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct pieces {
    struct mc_range at[5];
    u64 n;
};
static void add(struct pieces *p, u64 lo, u64 hi, u64 kind) {
    struct mc_range *last = p->at + p->n - 1;
    if (p->n && last->kind == kind && last->hi + 1 == lo)
        last->hi = hi;
    else
        p->at[p->n++] = (struct mc_range){lo, hi, kind};
}

/* [lo, hi] is of this kind from now on, whatever it was. */
static void set(u64 lo, u64 hi, enum kind kind) {
    make_room(ignored->count + 2);
    struct mc_range *r = ranges();
    struct pieces p = {.n = 0};
    u64 count = ignored->count, first = find(lo), behind = first;
    while (behind < count && r[behind].lo <= hi) behind++;
    /* The neighbours may become one with it. */
    u64 from = first ? first - 1 : 0, to = behind < count ? behind + 1 : count;
    if (from < first) add(&p, r[from].lo, r[from].hi, r[from].kind);
    if (first < behind && r[first].lo < lo) add(&p, r[first].lo, lo - 1, r[first].kind);
    if (kind != REPORTED) add(&p, lo, hi, kind);
    if (first < behind && r[behind - 1].hi > hi) add(&p, hi + 1, r[behind - 1].hi, r[behind - 1].kind);
    if (behind < to) add(&p, r[behind].lo, r[behind].hi, r[behind].kind);

    u64 tail = count - to, at = from + p.n;
    if (at <= to)
        for (u64 i = 0; i < tail; i++) r[at + i] = r[to + i];
    else
        for (u64 i = tail; i-- > 0;) r[at + i] = r[to + i];
    memcpy(r + from, p.at, p.n * sizeof *r);
    ignored->count = at + tail;
}

/* What the options say that they have not said before; in pieces, for there may be any number of ranges. */
static void ask_options(struct tstate *ts) {
    struct ip_slot *s = rt_slot(ts);
    u64 more;
    do {
        u64 words[6] = {INTERPOSE_RQ_MC_IGNORED_BY_OPTION};
        memcpy(s->data, words, sizeof words);
        s->len = sizeof words;
        s->a[0] = s->r[2] = 0;
        rt_request_python(ts, IP_R_REQUEST);
        const struct mc_by_option *told = (const struct mc_by_option *)(s->data + sizeof(struct ip_put));
        more = s->r[2] ? told->count : 0;
        if (!s->r[2]) break;
        below = told->below_sp;
        for (u64 i = 0; i < more; i++) set(told->ranges[i].lo, told->ranges[i].hi, BY_OPTION);
    } while (more);
}

void mc_options_changed(void) { options_known = false; }

u64 mc_ignore_range(struct tstate *ts, u64 lo, u64 len, bool ignore) {
    u64 hi = len - 1 > ~0ull - lo ? ~0ull : lo + len - 1;
    if (!len) return 0;
    rt_lock(&mc_ignored_lock);
    if (!options_known) ask_options(ts); /* they come first, so that a request can undo them */
    options_known = true;
    set(lo, hi, ignore ? BY_REQUEST : REPORTED);
    rt_unlock(&mc_ignored_lock);
    return 1;
}

/* Of an access in a range the first byte decides, below the stack pointer all of them do: so it is in Valgrind. */
bool mc_is_ignored(struct tstate *ts, u64 addr, u64 n) {
    rt_lock(&mc_ignored_lock);
    if (!options_known) ask_options(ts);
    options_known = true;
    u64 i = find(addr), down = ts->gpr[IP_RSP] - addr;
    bool in_range = i < ignored->count && ranges()[i].lo <= addr;
    rt_unlock(&mc_ignored_lock);
    if (in_range || (down && down <= below.slack)) return true;
    return below.far && down <= below.far && n <= down && down - (n ? n - 1 : 0) >= below.near;
}
