/* Slow paths of memory accesses: is it addressable, is it defined.
 *
 * Reached from clean translations (entry.S) when the V bytes of an access are
 * not all zero or not there.  Memcheck engine, "The clean translation":
 * unaddressable -> report once, go on as if defined; undefined -> continue in
 * the tracking translation.
 */
#include "shadow.h"

enum { TMP_VERDICT = 7 }; /* ts->tmp[7]: 1 = go on in the tracking translation */

static bool in_dead_stack(const struct tstate *ts, u64 a) {
    return a >= ts->stack_lo && a < ts->stack_hi && a + SH_REDZONE < ts->gpr[IP_RSP];
}

bool sh_addressable(struct tstate *ts, u64 a) {
    u8 b;
    if (sh_read(&b, sh_v(a), 1) < 0)
        return false;
    if (b != 0xff)
        return true;
    if (sh_read(&b, sh_a(a), 1) < 0 || (b >> (a & 7) & 1))
        return false;
    return !ts || !in_dead_stack(ts, a);
}

int sh_access(struct tstate *ts, u64 addr, u64 n, u8 *v) {
    int acc = 0;
    u64 word;
    while (n) {
        if (n >= 8 && sh_read(&word, sh_v(addr), 8) == 0) {
            if (v) {
                __builtin_memcpy(v, &word, 8);
                v += 8;
            }
            u64 spread = word;
            acc |= word ? SH_ACC_UNDEF : SH_ACC_ADDR;
            for (u64 i = 0; word && i < 8; i++, spread >>= 8)
                acc |= (spread & 0xff) != 0xff || sh_addressable(ts, addr + i) ? SH_ACC_ADDR
                                                                               : SH_ACC_UNADDR;
            addr += 8;
            n -= 8;
            continue;
        }
        u8 b = 0xff;
        if (sh_read(&b, sh_v(addr), 1) < 0)
            acc |= SH_ACC_UNADDR;
        else if (b != 0xff || sh_addressable(ts, addr))
            acc |= SH_ACC_ADDR;
        else
            acc |= SH_ACC_UNADDR;
        if (b)
            acc |= SH_ACC_UNDEF;
        if (v)
            *v++ = b;
        addr++;
        n--;
    }
    return acc;
}

bool sh_partial_ok(u64 addr, u64 n, int acc) {
    if (rt.flags & IP_C_NO_PARTIAL_LOADS)
        return false;
    return (acc & SH_ACC_ADDR) && (n == 8 || n == 16 || n == 32 || n == 64) && !(addr & (n - 1));
}

void sh_report_access(struct tstate *ts, int kind, u64 addr, u64 n) {
    struct ip_error *e = rt_error_begin(ts, kind);
    e->size = (u32)n;
    e->addr = addr;
    rt_error_end(ts, e);
}

void rt_load_slow(struct tstate *ts) {
    u64 addr = ts->acc_addr, n = ts->acc_info & 0xffff;
    sh_stack_sync(ts);
    int acc = sh_access(ts, addr, n, NULL);
    ts->tmp[TMP_VERDICT] = 0;
    if (acc & SH_ACC_UNADDR) {
        if (!sh_partial_ok(addr, n, acc)) {
            sh_report_access(ts, IP_E_READ, addr, n);
            return;
        }
    }
    if ((acc & SH_ACC_UNDEF) && (rt.flags & IP_C_UNDEF))
        ts->tmp[TMP_VERDICT] = 1;
}

void rt_store_slow(struct tstate *ts) {
    u64 addr = ts->acc_addr, n = ts->acc_info & 0xffff;
    sh_stack_sync(ts);
    int acc = sh_access(ts, addr, n, NULL);
    if (!(acc & SH_ACC_UNADDR)) {
        sh_fill(sh_v(addr), 0, n);
        return;
    }
    sh_report_access(ts, IP_E_WRITE, addr, n);
    for (u64 i = 0; i < n; i++)
        if (sh_addressable(ts, addr + i))
            *(volatile u8 *)sh_v(addr + i) = 0;
}

/* First byte of [addr, addr+len) for which bad() holds, 0 if none.  Zero V
 * bytes are skipped in blocks. */
static u64 scan(struct tstate *ts, u64 addr, u64 len, bool undef) {
    u64 buf[32];
    for (u64 end = addr + len, k; addr < end; addr += k) {
        k = sizeof buf - (sh_v(addr) & (sizeof buf - 1)); /* within one page */
        if (k > end - addr)
            k = end - addr;
        if (sh_read(buf, sh_v(addr), k) < 0)
            return addr;
        for (u64 i = 0; i < k; i++) {
            if (!(i & 7) && i + 8 <= k && !buf[i / 8]) {
                i += 7;
                continue;
            }
            if (((u8 *)buf)[i] && (undef || !sh_addressable(ts, addr + i)))
                return addr + i;
        }
    }
    return 0;
}

u64 rt_shadow_first_unaddr(struct tstate *ts, u64 addr, u64 len) {
    return rt.flags & IP_C_SHADOW ? scan(ts, addr, len, false) : 0;
}

u64 rt_shadow_first_undef(u64 addr, u64 len) {
    return rt.flags & IP_C_SHADOW ? scan(NULL, addr, len, true) : 0;
}
