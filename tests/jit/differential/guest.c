/* The guest of the differential tests: runs instruction sequences from a case
 * file, each from a given state, and writes what each left behind.
 *
 *   guest info                      sizes and offsets of the XSAVE area
 *   guest run FILE FIRST COUNT      one record a case on stdout
 *   guest dump FILE CASE            everything one case left, on stdout
 *   guest warm FILE CASE            the record of its fourth run: nothing is translated meanwhile
 *
 * No libc and no vector code of its own.  The same binary runs natively and
 * under interpose, and the two outputs must be equal.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>

#include <asm/prctl.h>
#include <asm/signal.h>
#include <asm/sigcontext.h>
#include <asm/siginfo.h>
#include <asm/ucontext.h>
#include <asm/unistd.h>
#include <linux/mman.h>

typedef uint64_t u64;

#define MAX_BUFS 6
#define XAREA    16384

struct buffer {
    u64 addr, len, prot, file_off; /* file_off: template; hashed if prot & 2 */
};
struct header {
    u64 magic, n_cases, code_addr, code_off, code_len, table_off, images_off, image_size, n_bufs;
    u64 fs_base, gs_base, xmask;
    struct buffer buf[MAX_BUFS];
};
struct one_case {
    u64 gpr[16], flags, entry, image, pad;
};
struct record {
    u64 gpr[16], flags, fs, gs, xhash, mhash;
    u64 signo, code, addr, trapno, err, cr2, fault_pc, fault_flags, fault_hash;
};

/* Shared with guest_asm.S. */
u64 in_gpr[16], in_flags, in_entry, in_image, x_mask;
u64 out_gpr[16], out_flags;
u64 save_slot[1] __attribute__((section(".slot"), aligned(4096))); /* jumped through at the end of a case */
uint8_t x_area[XAREA] __attribute__((aligned(64)));
extern char common_save[], restore_rt[];
void run_case(void);

static struct record rec;
static uint8_t alt_stack[65536] __attribute__((aligned(64)));
static uint8_t out_buf[1 << 16];
static size_t out_len;
static u64 x_size;

static long sys6(long n, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) {
    long r;
    register u64 r10 __asm__("r10") = d;
    register u64 r8 __asm__("r8") = e;
    register u64 r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return r;
}
static long sys3(long n, u64 a, u64 b, u64 c) { return sys6(n, a, b, c, 0, 0, 0); }

static void flush(void) {
    for (size_t at = 0; at < out_len;) {
        long r = sys3(__NR_write, 1, (u64)(out_buf + at), out_len - at);
        if (r <= 0) sys3(__NR_exit_group, 3, 0, 0);
        at += (size_t)r;
    }
    out_len = 0;
}
static void put(const void *p, size_t n) {
    const uint8_t *s = p;
    while (n--) {
        if (out_len == sizeof out_buf) flush();
        out_buf[out_len++] = *s++;
    }
}
static void die(const char *text) {
    size_t n = 0;
    while (text[n]) n++;
    sys3(__NR_write, 2, (u64)text, n);
    sys3(__NR_exit_group, 2, 0, 0);
    for (;;) {}
}

void *memcpy(void *d, const void *s, size_t n) {
    void *r = d;
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
    return r;
}
void *memset(void *d, int c, size_t n) {
    void *r = d;
    __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
    return r;
}

static u64 hash(u64 h, const void *p, size_t n) {
    const u64 *w = p;
    for (size_t i = 0; i < n / 8; i++) {
        h = (h ^ w[i]) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 29;
    }
    return h;
}

/* The state components, without XSTATE_BV: which components are in their
 * initial configuration is the hardware's own affair. */
static u64 hash_xstate(u64 h, uint8_t *x) {
    h = hash(h, x, 464);
    return hash(h, x + 576, x_size - 576);
}

void on_signal(int sig, siginfo_t *si, struct ucontext *uc) {
    struct sigcontext *mc = &uc->uc_mcontext;
    rec.signo = (u64)sig;
    rec.code = (u64)(int64_t)si->si_code;
    rec.addr = (u64)si->si_addr;
    rec.trapno = mc->trapno;
    rec.err = mc->err;
    rec.cr2 = mc->trapno == 14 ? mc->cr2 : 0; /* else what an earlier page fault left */
    rec.fault_pc = mc->rip;
    rec.fault_flags = mc->eflags;
    const u64 regs[16] = {mc->rax, mc->rcx, mc->rdx, mc->rbx, mc->rsp, mc->rbp, mc->rsi, mc->rdi,
                          mc->r8,  mc->r9,  mc->r10, mc->r11, mc->r12, mc->r13, mc->r14, mc->r15};
    rec.fault_hash = hash(7, regs, sizeof regs);
    mc->rip = (u64)common_save;
}

static void cpuid(unsigned leaf, unsigned sub, unsigned out[4]) {
    __asm__ volatile("cpuid" : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3]) : "a"(leaf), "c"(sub));
}

static u64 xcr0(void) {
    unsigned lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (u64)hi << 32 | lo;
}

static void set_base(int which, u64 value) {
    if (which == 0)
        sys3(__NR_arch_prctl, ARCH_SET_FS, value, 0);
    else
        sys3(__NR_arch_prctl, ARCH_SET_GS, value, 0);
}
static u64 get_base(int which) {
    u64 v = 0;
    sys3(__NR_arch_prctl, which == 0 ? ARCH_GET_FS : ARCH_GET_GS, (u64)&v, 0);
    return v;
}

static void info(void) {
    unsigned r[4];
    u64 row[3] = {xcr0(), 0, 0};
    cpuid(13, 0, r);
    row[1] = r[1];
    put(row, sizeof row);
    for (unsigned i = 2; i < 10; i++) {
        cpuid(13, i, r);
        u64 c[2] = {r[1], r[0]};
        put(c, sizeof c);
    }
    u64 slot = (u64)save_slot;
    put(&slot, 8);
    flush();
}

static void handlers(void) {
    struct sigaltstack ss = {.ss_sp = alt_stack, .ss_size = sizeof alt_stack};
    sys3(__NR_sigaltstack, (u64)&ss, 0, 0);
    static const int sigs[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    for (unsigned i = 0; i < 5; i++) {
        struct sigaction sa = {0};
        sa.sa_handler = (__sighandler_t)(void *)on_signal;
        sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTORER | SA_NODEFER;
        sa.sa_restorer = (__sigrestore_t)(void *)restore_rt;
        sys6(__NR_rt_sigaction, (u64)sigs[i], (u64)&sa, 0, 8, 0, 0);
    }
}

static u64 number(const char *s) {
    u64 v = 0;
    while (*s) v = v * 10 + (u64)(*s++ - '0');
    return v;
}

/* Populated: a store to a read-only page that nothing has read yet faults as "not present" (err bit 0 clear),
 * and whether something has read it is no part of what a case leaves behind. */
static void map_at(u64 addr, u64 len, u64 prot, u64 flags, long fd, u64 off) {
    flags |= MAP_FIXED | MAP_PRIVATE | MAP_POPULATE;
    long r = sys6(__NR_mmap, addr, len, prot, flags, (u64)fd, off);
    if ((u64)r != addr) die("guest: cannot map\n");
}

static void one(const struct header *h, const uint8_t *file, u64 i) {
    const struct one_case *c = (const void *)(file + h->table_off + i * sizeof *c);
    for (u64 b = 0; b < h->n_bufs; b++)
        if (h->buf[b].prot & 2) memcpy((void *)h->buf[b].addr, file + h->buf[b].file_off, h->buf[b].len);
    memcpy(in_gpr, c->gpr, sizeof in_gpr);
    in_flags = c->flags;
    in_entry = c->entry;
    in_image = (u64)(file + h->images_off + c->image * h->image_size);
    memset(&rec, 0, sizeof rec);
    memset(x_area, 0, x_size);
    run_case();
    memcpy(rec.gpr, out_gpr, sizeof out_gpr);
    rec.flags = out_flags;
    rec.fs = get_base(0);
    rec.gs = get_base(1);
    if (rec.fs != h->fs_base) set_base(0, h->fs_base);
    if (rec.gs != h->gs_base) set_base(1, h->gs_base);
    /* Opcode and addresses of the last x87 instruction: AMD's xrstor drops them, so any switch to another
     * process changes them.  What the instructions of a case store of them is compared. */
    memset(x_area + 6, 0, 18);
    rec.xhash = hash_xstate(1, x_area);
    rec.mhash = 2;
    for (u64 b = 0; b < h->n_bufs; b++)
        if (h->buf[b].prot & 2) rec.mhash = hash(rec.mhash, (void *)h->buf[b].addr, h->buf[b].len);
}

void guest_main(u64 *sp) {
    u64 argc = sp[0];
    char **argv = (char **)(sp + 1);
    unsigned r[4];
    cpuid(13, 0, r);
    x_size = r[1];
    if (x_size > XAREA) die("guest: XSAVE area too large\n");
    save_slot[0] = (u64)common_save;
    if (argc >= 2 && argv[1][0] == 'i') {
        info();
        sys3(__NR_exit_group, 0, 0, 0);
    }
    if (argc < 4) die("usage: guest info | run FILE FIRST COUNT | dump FILE CASE\n");
    long fd = sys3(__NR_open, (u64)argv[2], 0, 0);
    if (fd < 0) die("guest: cannot open the case file\n");
    long size = sys3(__NR_lseek, (u64)fd, 0, 2);
    /* Low, where the interposer leaves room. */
    u64 base = 0x02000000;
    map_at(base, (u64)size, PROT_READ, 0, fd, 0);
    const uint8_t *file = (const void *)base;
    const struct header *h = (const void *)base;
    if (h->magic != 0x66666964) die("guest: not a case file\n");
    x_mask = h->xmask;
    map_at(h->code_addr, h->code_len, PROT_READ | PROT_EXEC, 0, fd, h->code_off);
    for (u64 b = 0; b < h->n_bufs; b++) {
        const struct buffer *q = &h->buf[b];
        if (q->prot & 2)
            map_at(q->addr, q->len, q->prot, MAP_ANONYMOUS, -1, 0);
        else
            map_at(q->addr, q->len, q->prot, 0, fd, q->file_off);
    }
    handlers();
    set_base(0, h->fs_base);
    set_base(1, h->gs_base);
    u64 first = number(argv[3]);
    if (argv[1][0] == 'd') {
        one(h, file, first);
        put(&rec, sizeof rec);
        put(x_area, x_size);
        for (u64 b = 0; b < h->n_bufs; b++)
            if (h->buf[b].prot & 2) put((void *)h->buf[b].addr, h->buf[b].len);
    } else if (argv[1][0] == 'w') {
        for (int i = 0; i < 4; i++) one(h, file, first);
        put(&rec, sizeof rec);
    } else {
        u64 count = argc > 4 ? number(argv[4]) : h->n_cases - first;
        for (u64 i = first; i < first + count && i < h->n_cases; i++) {
            one(h, file, i);
            put(&rec, sizeof rec);
        }
    }
    flush();
    sys3(__NR_exit_group, 0, 0, 0);
}
