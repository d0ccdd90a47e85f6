/* Runs of bytes for the program's string functions: copied, filled and searched at once, where that shows nothing else
 * than a loop over bytes would.
 */
#include "heap/heap.h"
#include "heap/heap_hooks.h"

/* Searched first, and at the most, before the V bits of more are looked at: most strings end soon. */
#define FIRST_PIECE 128
#define MOST_PIECE  4096
/* Searched for one request: signals and flushes wait meanwhile. */
#define MOST_RUN (1ull << 20)

/* Guest bytes and their V bits.  False: some byte is not addressable or not
 * there; the stub then goes the slow way, where each access is checked and
 * faults as the program's own. */
bool heap_bulk_copy(struct tstate *ts, u64 dst, u64 src, u64 n) {
    if (!heap_hook_may_access(ts, src, n) || !heap_hook_may_access(ts, dst, n)) return false;
    if (!(dst > src && dst - src < n)) {
        if (rt_copy_to(dst, (const void *)src, n) < 0) return false;
        heap_hook_copied(ts, dst, src, n);
        return true;
    }
    u64 buf[64];
    for (u64 left = n; left;) {
        u64 k = left < sizeof buf ? left : sizeof buf;
        left -= k;
        if (rt_copy_from(buf, src + left, k) < 0 || rt_copy_to(dst + left, buf, k) < 0) return false;
    }
    heap_hook_copied(ts, dst, src, n);
    return true;
}

/* byte_at: guest address of the byte, so that its V bits come along. */
bool heap_bulk_fill(struct tstate *ts, u64 dst, u64 byte_at, u64 n) {
    u8 byte;
    if (rt_copy_from(&byte, byte_at, 1) < 0) return false;
    if (!heap_hook_may_access(ts, dst, n) || rt_fill_to(dst, byte, n) < 0) return false;
    heap_hook_filled(dst, byte_at, n);
    return true;
}

u64 heap_plain_run(u64 at, u64 n, u8 byte) {
    if (at >= IP_CLIENT_END) return 0;
    if (n > MOST_RUN) n = MOST_RUN;
    u64 from = at, piece = FIRST_PIECE, end = n < IP_CLIENT_END - at ? at + n : IP_CLIENT_END;
    while (at < end) {
        u64 defined = heap_hook_defined(at, end - at < piece ? end - at : piece);
        long run = defined ? rt_run_without(at, defined, byte * 0x0101010101010101ull) : 0;
        if (run > 0) at += (u64)run;
        if (!defined || run < (long)defined) break;
        if (piece < MOST_PIECE) piece *= 2;
    }
    return at - from;
}
