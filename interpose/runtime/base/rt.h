/* The runtime: everything of ours that lives in the client.
 *
 * Rules (docs/runtime.md): freestanding, no libc; built with
 * -mgeneral-regs-only so that vector and x87 state always belong to the guest;
 * no allocation while holding a lock that a signal handler may take; guest
 * memory is only touched through rt_copy_from/rt_copy_to/rt_strncpy_from,
 * which survive a fault.
 */
#ifndef INTERPOSE_RT_H
#define INTERPOSE_RT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abi/channel.h"
#include "abi/errors.h"
#include "abi/exits.h"
#include "abi/inline/shared_lock.h"
#include "abi/meta.h"
#include "abi/space.h"
#include "abi/tstate.h"
#include "abi/x86_insn.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;

#define RT_PAGE             4096ull
#define RT_ROUND_UP(x, a)   (((x) + ((a) - 1)) & ~((u64)(a) - 1))
#define RT_ROUND_DOWN(x, a) ((x) & ~((u64)(a) - 1))
#define RT_NOINLINE         __attribute__((noinline))
#define RT_NORETURN         __attribute__((noreturn))

/* ---- sys.h: raw system calls; results are -errno on failure -------------- */
#include "runtime/base/sys.h"

/* ---- Per-thread data of the runtime, inside tstate.runtime_area ----------- */
struct filter;
/* ORDER: entry.S has the numbers. */
enum rt_where {
    RT_IN_PROGRAM, /* the tables and the cache must stay as they are */
    RT_IN_RUNTIME, /* they may be flushed */
    RT_AT_EXIT     /* in the runtime, which still needs what an exit or its block says */
};
enum rt_thread_life { TH_FREE, TH_LIVE, TH_ZOMBIE };
struct rt_thread {
    struct tstate *ts;
    u32 tid;                          /* kernel thread id */
    u32 pid;                          /* differs from rt.pid in a vfork child */
    u32 in_use;                       /* enum rt_thread_life */
    u32 in_runtime;                   /* enum rt_where */
    u64 stack_base, stack_size;       /* runtime stack */
    u64 sigstack_base, sigstack_size; /* host alternate stack */
    /* signals (signal.c) */
    u64 sigmask; /* the guest's idea of its mask */
    u32 pending; /* a recorded signal waits for delivery */
    u32 pending_sig;
    u8 pending_info[128]; /* its kernel siginfo */
    u64 altstack_sp, altstack_size;
    u32 altstack_flags, pad; /* the guest's */
    u64 fault_resume;        /* not 0: a fault at rt_copy code resumes here */
    u64 syscall_restart_pc;  /* guest pc of the syscall being executed */
    u64 syscall_nr;
    u32 exiting, kick; /* kick: leave translated code at next boundary */
    u64 clear_child_tid;
    u32 vfork_child;        /* shares memory with its parent */
    u32 slot;               /* channel slot */
    u32 limits_set;         /* limits.c: a vfork child's own, by bit */
    u32 flush_seq;          /* rt_flush_seq when ts->target was looked up */
    u64 exit_gen;           /* generation of the tables that exit_id is from */
    u64 stale_key;          /* of a block that found other bytes, or 0 */
    u64 own_limits[2][2];   /* those of limits_set */
    struct filter *filters; /* seccomp.c */
    u32 strict;             /* its strict mode */
    u32 has_slot;
    u32 clear_handlers;              /* thread.c: CLONE_CLEAR_SIGHAND */
    u32 user_dispatch;               /* userdispatch.c: on */
    u64 dispatch_from, dispatch_len; /* where system calls are the kernel's */
    u64 dispatch_selector;           /* address of the byte that says, or 0 */
    u32 no_tsc;                      /* rdtsc faults: prctl(PR_SET_TSC) */
    u32 tracing;                     /* tracer_wait.c: handles stops of tracees: 1; 2: one more has been heard of */
    u8 heard[128];                   /* by this SIGCHLD */
    u64 errors_off;                  /* errors.c: reports are switched off while above 0 */
    u64 origin_tags;                 /* origin.c: address of the tags of the registers, or 0 */
    u32 trap_flag;                   /* the guest's TF (trapflag.c) */
    u16 ss;                          /* selector that the guest loaded, 0: as the kernel sets it */
    u32 unwrapped;                   /* guest_call.c: 1 + index of the call inside which no wrapper applies, or 0 */
    u32 maker_pid, maker_tid;        /* who waits for it in vfork, or 0 */
    u32 settling;                    /* trace/buffer.c: what it has recorded or counted is being settled */
    u32 names_fd;                    /* syscall_fd.c: in a call that closes or takes a number of its choice */
    /* A debugger's (debug/debug.c): it steps this thread; trap_flag is its doing, the guest's own; the instruction has
     * been made; in a call whose entry was told; an element of a repeated instruction. */
    u32 debug_step, debug_forced, debug_own_flag, debug_done, debug_in_call, debug_turn;
    u64 debug_pc, debug_range[2]; /* where the step began; goes on while in there */
    u64 debug_past;               /* pc of an instruction at which no breakpoint or watchpoint counts, or 0 */
    u64 debug_hit;                /* watched address that the instruction under way accesses */
    u64 debug_told[2];            /* pc and RSP of an error that it stops for, and that is told by now */
    u32 files;                    /* number of its table of descriptors (abi/descriptors.h) */
    u32 address_room;             /* the tool: bytes that a socket call may fill with an address, before it did */
    struct rt_debug_wait {
        u64 pc, sp, nr, length, end;    /* of the last call with a relative time-out: ns, and when it is over */
    } debug_wait;                       /* debug/timeouts.c; length 0: nobody has asked, end: the CPU's counter then */
    u64 left_sp, left_hi;               /* the tool: the thread's own stack, where RSP has left it for another */
    struct rt_debug_vbits *debug_vbits; /* V bits of the registers when debug_told was set, or NULL */
    struct {
        u64 pc, rax, next; /* of the call; where it has led to */
    } debug_broken;        /* that the kernel has broken off for a signal which is told; pc 0: none */
    u32 debug_broke;       /* it is on its way out of there */
    u32 debug_passes;      /* a signal that is not told comes amid a step */
    u64 debug_aside[2];    /* pc and RSP where the step goes on when its handler returns there; or 0 */
    u64 debug_sent;        /* a signal that the debugger has sent, and is not told of; or 0 */
    u64 debug_born;        /* the process that this call has made, 1 << 32: by vfork; or 0 */
    u64 joining_branch;    /* track_branch.c: pc of a branch that reports the one before it, too, or 0 */
    u64 target_kept;       /* signal.c: of ts->target, which leads to rt_arrived meanwhile; or 0 */
    u64 came_from;         /* thread.c: RSP of who made this task, on another stack; or 0 */
    u64 found_key;         /* guest_call.c: the function asked for last */
    u64 found_at;
    u32 rooms[9]; /* the tool: elements that bpf may write where its information points to, before it did */
    u32 pad_rooms;
    u64 waits_sp;              /* RSP, while the kernel has it in a system call; else 0 */
    struct ip_vforked vforked; /* if it is one */
    u64 stack_noted[2];        /* the shadow: its stack, as elsewhere.c has noted it */
};
static inline struct rt_thread *rt_th(struct tstate *ts) { return (struct rt_thread *)ts->runtime_area; }
/* Does it live, and as a thread of the process: no child that is on its memory? */
static inline bool rt_is_thread(struct tstate *ts) { return rt_th(ts)->in_use == TH_LIVE && !rt_th(ts)->vfork_child; }
/* Is it in translated code, or on the way back there in the middle of a block? */
static inline bool rt_is_inside(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    return th->in_use == TH_LIVE && __atomic_load_n(&th->in_runtime, __ATOMIC_SEQ_CST) != RT_IN_RUNTIME;
}
/* What happens most often by far, and what hardly ever does, where a few nanoseconds count. */
#define rt_likely(what)   __builtin_expect(!!(what), 1)
#define rt_unlikely(what) __builtin_expect(!!(what), 0)
/* Does it run in blocks of one instruction, which are for no table? */
static inline bool rt_steps(struct tstate *ts) { return rt_th(ts)->trap_flag || rt_th(ts)->unwrapped; }
/* The state of who runs here; its own is the base of FS in the runtime. */
static inline struct tstate *rt_current(void) {
    struct tstate *ts;
    __asm__("mov %%fs:%c1, %0" : "=r"(ts) : "i"(offsetof(struct tstate, self)));
    return ts;
}
/* Whether an entry of the call stack says where RSP was before the signal that the entries behind it handle.  That
 * holds as long as the next one, the place where the signal came, is of a live frame: seen. */
static inline bool rt_is_interrupted(const struct ip_csent *e, const struct ip_csent *seen) {
    return !e->retaddr && e->above && seen == e + 1;
}
extern u64 rt_stacks_changed; /* counts the changes of any thread's stack, once they are made */
static inline void rt_set_stack(struct tstate *ts, u64 lo, u64 hi) {
    ts->stack_lo = lo;
    ts->stack_hi = hi;
    __atomic_add_fetch(&rt_stacks_changed, 1, __ATOMIC_RELEASE);
}
/* Where the return address of an entry of the call stack is. */
static inline u64 rt_return_slot(const struct ip_csent *e) { return e->above - sizeof(u64); }
/* What the guest's segment (enum ip_seg) adds to an address. */
static inline u64 rt_seg_base(const struct tstate *ts, u32 seg) {
    return seg == IP_SEG_FS ? ts->client_fs : seg == IP_SEG_GS ? ts->client_gs : 0;
}

/* ---- The translator's tables ---------------------------------------------- */
#define RT_META(type, offset) ((const type *)(IP_META_BASE + (u64)(offset)))
static const struct ip_exit *const rt_exits = RT_META(struct ip_exit, IP_META_EXITS);
static const u8 *const rt_pcs = RT_META(u8, IP_META_PCS); /* for ip_pc_of */

/* ---- Global state --------------------------------------------------------- */
struct rt_global {
    struct ip_chan *chan;       /* == IP_CHAN_BASE */
    const struct ip_meta *meta; /* == IP_META_BASE */
    u64 flags;                  /* chan->config_flags, copied */
    u32 pid;
    int sock_fd;    /* liveness and fd passing; hidden from the guest */
    int runtime_fd; /* our own executable, for exec of traced children */
    int shadow_fd;  /* pages of 0xff for the shadow; -1 without shadow */
    int tool_fd;    /* a file of the tool's, or -1: see rt_hold_descriptors */
    u64 page_size;
    /* the program, filled by the loader */
    u64 entry, phdr, phnum, interp_base, load_bias, brk_start, stack_top;
    char exe_path[4096]; /* absolute path answered for /proc/self/exe */
    u64 image_end;
    u64 stubs_lo, stubs_hi;          /* the stubs image */
    u64 linker_lo, linker_hi;        /* the dynamic linker, where that is no C library as well */
    u64 stack_lo, stack_end;         /* main stack: mapped from, may grow down to */
    u32 tracer;                      /* a debugger of the whole run (TracerPid), 0 none */
    bool mdwe;                       /* prctl(PR_SET_MDWE) */
    bool read_exec;                  /* personality(READ_IMPLIES_EXEC) */
    bool no_randomize;               /* personality: ADDR_NO_RANDOMIZE */
    bool final_calls;                /* the program has ended; libraries release memory */
    u64 auxv_sp;                     /* guest's initial stack pointer */
    u64 arg_start, arg_end, env_end; /* strings of argv, then of envp */
};
extern struct rt_global rt;

/* Is a debugger there (IP_DBG_*)?  One word, asked where the dispatcher is anyway. */
static inline u32 rt_debugged(void) { return __atomic_load_n(&rt.chan->debug, __ATOMIC_RELAXED); }

/* Calls misused are told of as errors are, by tools that tell of these. */
static inline bool rt_tells_misuse(void) { return rt.chan->verbosity && (rt.flags & IP_C_SHADOW); }

/* Where the guest's address space ends.  The table of heap blocks reaches as far
 * as the shadow does. */
static inline bool rt_is_bare(void) { return !(rt.flags & (IP_C_SHADOW | IP_C_HEAP)); }
static inline u64 rt_client_end(void) { return rt_is_bare() ? IP_CLIENT_END_BARE : IP_CLIENT_END; }

/* ---- util.c ---------------------------------------------------------------- */
/* Of what <string.h> declares there are memcpy, memset, memmove and memcmp, as the compiler calls them where it makes
 * no moves; and what has rt_ before its name. */
size_t rt_strlen(const char *s);
int rt_strcmp(const char *a, const char *b);
int rt_strncmp(const char *a, const char *b, size_t n);
int rt_snprintf(char *buf, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4))); /* %s %d %u %x %lx %lu %ld %c %p %% with width/0 */
int rt_vsnprintf(char *buf, size_t n, const char *fmt, va_list ap);
/* mmap for ourselves: an address, or -errno.  Where the kernel has no mapping left, those are spent that were held
 * back. */
long rt_host_map(u64 at, u64 bytes, u32 prot, u32 flags, int fd);
/* The same from that place of the file on. */
long rt_host_map_from(u64 at, u64 bytes, u32 prot, u32 flags, int fd, u64 place);
/* The program has many mappings: hold some back from now on, or again. */
void rt_spare_mappings(void);
/* mmap for ourselves, in the window that the program does not get: an address, or -errno. */
long rt_own_map(u64 bytes, u32 prot, u32 flags, int fd);
/* Anonymous memory of ours; never fails (dies with one line). */
void *rt_pages(u64 bytes);
void rt_free_pages(void *p, u64 bytes);
/* One line on stderr that begins with head; what is beyond 5 KiB is cut off. */
void rt_vline(const char *head, const char *fmt, va_list ap);
/* One clear line on stderr ("interpose: ..."), then exit 1. */
void rt_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Internal fault: registers, guest pc, block, how to report; then exit 1 (core/panic.c). */
void rt_panic(struct tstate *ts, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));
extern const u64 *rt_panic_host; /* registers of the runtime's code that has faulted, numbered as the guest's; or 0 */

/* ---- ownfiles.c: whatever limit on file sizes the program has ------------------ */
struct iovec;
/* A memory file of so many zeroes, closed at exec: a descriptor, or -errno. */
long rt_memory_file(const char *name, u64 bytes);
/* Write behind the `size` bytes that a file has, as much as there is room for; the parts may be changed: 0, or -errno.
 */
long rt_append(int fd, u64 size, struct iovec *parts, u64 n);

/* ---- lock.c ---------------------------------------------------------------- */
typedef struct ip_shared_lock rt_lock_t;
void rt_lock(rt_lock_t *l);
void rt_unlock(rt_lock_t *l);
bool rt_trylock(rt_lock_t *l);      /* false: held by somebody, or not to be had without a wait */
bool rt_trylock_soon(rt_lock_t *l); /* the same, for one that is held for less than a microsecond */
extern bool rt_alone;               /* there has been one thread only so far: nobody waits for a lock */
extern bool rt_memory_shared;       /* children that are no threads have been made on this memory */
bool rt_process_ended(u32 pid);     /* also while nobody has waited for it */

/* ---- uaccess.S: what may fault --------------------------------------------- */
/* Guest memory; 0 or -EFAULT.  strncpy: length copied without NUL, or -errno. */
long rt_copy_from(void *dst, u64 guest_src, u64 n);
long rt_copy_to(u64 guest_dst, const void *src, u64 n);
long rt_fill_to(u64 guest_dst, u8 byte, u64 n);
long rt_strncpy_from(char *dst, u64 guest_src, u64 n);
/* How many of n bytes are zero before the first that is not; -EFAULT. */
long rt_zeros(u64 from, u64 n);
/* The same of bytes that are not a certain one; eight times in a word. */
long rt_run_without(u64 from, u64 n, u64 bytes);
/* Load a selector, which the CPU may refuse: then not 0, and rt_signal_copied says why. */
long rt_load_gs(u32 selector);
long rt_load_ss(u32 selector);
long rt_int80(long nr);
extern char rt_copy_begin[], rt_copy_end[], rt_copy_fault[];

/* ---- chan.c: requests to the supervisor ------------------------------------ */
struct ip_slot *rt_slot(struct tstate *ts);
/* Post a request and wait for the answer.  Fill slot->a[] and data first (rt_slot). */
void rt_request_translator(struct tstate *ts, u32 kind);
void rt_request_python(struct tstate *ts, u32 kind);
void rt_slot_attach(struct tstate *ts); /* give the thread a free slot */
/* False: somebody was killed amid a request, whose answer would go to the next owner. */
bool rt_slot_detach(struct tstate *ts);
/* A number over the socket, before a request that says the same: with it the kernel tells the supervisor our process
 * as the supervisor's namespace numbers it. */
u64 rt_show_pid(void);
/* Stand still if --delays says so (enum ip_delay). */
void rt_delay(u32 at);
/* A line in the log. */
void rt_note(struct tstate *ts, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, of what the program does that may be a mistake: with -q there is none, nor beside a document in XML. */
void rt_warn(struct tstate *ts, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same; how: IP_SAY_*. */
void rt_say(struct tstate *ts, u32 how, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool rt_supervisor_gone(void);
/* It is: one line, unless it has said why itself, then exit 1. */
void rt_end_alone(void) RT_NORETURN;
/* Have the kernel signal the end of the supervisor (SIGTRAP, si_code SI_SIGIO). */
void rt_watch_supervisor(void);
void rt_signal_when_gone(bool wanted);
extern int rt_watched_fd;
/* The last request is made: the supervisor may go. */
extern bool rt_leaving;

/* The guest's pc in a key.  What a program jumped to may be no address of user space; then it is no key. */
static inline u64 rt_pc(u64 key) {
    u64 foreign = key >> 47 & 0x1fff;
    if (!foreign) return key & IP_KEY_PC;
    return foreign == IP_KEY_NONE >> 47 ? key & ~IP_KEY_NONE : key;
}
/* The key of where the program goes.  A pointer with a tag in its uppermost bits would be one with modes. */
static inline u64 rt_key(u64 addr) { return addr >> 47 && !(addr >> 47 & 0x1fff) ? addr | IP_KEY_NONE : addr; }

#endif
