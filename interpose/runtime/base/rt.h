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

#include "abi/abi.h"
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
struct rt_thread {
    struct tstate *ts;
    u32 tid; /* kernel thread id */
    u32 pid; /* differs from rt.pid in a vfork child */
    u32 in_use;
    u32 in_runtime;                   /* 1 while C code of the runtime runs; 2 when it still
                                         needs what an exit or its block says */
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
    u64 clear_child_tid, robust_list, robust_len;
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
};
static inline struct rt_thread *rt_th(struct tstate *ts) { return (struct rt_thread *)ts->runtime_area; }
/* What the guest's segment (enum ip_seg) adds to an address. */
static inline u64 rt_seg_base(const struct tstate *ts, u32 seg) {
    return seg == IP_SEG_FS ? ts->client_fs : seg == IP_SEG_GS ? ts->client_gs : 0;
}

/* ---- Global state --------------------------------------------------------- */
struct rt_global {
    struct ip_chan *chan;       /* == IP_CHAN_BASE */
    const struct ip_meta *meta; /* == IP_META_BASE */
    u64 flags;                  /* chan->config_flags, copied */
    u32 pid;
    int sock_fd;    /* liveness and fd passing; hidden from the guest */
    int runtime_fd; /* our own executable, for exec of traced children */
    int shadow_fd;  /* pages of 0xff for the shadow; -1 without shadow */
    u64 page_size;
    /* the program, filled by the loader */
    u64 entry, phdr, phnum, interp_base, load_bias, brk_start, stack_top;
    char exe_path[4096]; /* absolute path answered for /proc/self/exe */
    u64 image_end;
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

/* Where the guest's address space ends.  The table of heap blocks reaches as far
 * as the shadow does. */
static inline bool rt_is_bare(void) { return !(rt.flags & (IP_C_SHADOW | IP_C_HEAP)); }
static inline u64 rt_client_end(void) { return rt_is_bare() ? IP_CLIENT_END_BARE : IP_CLIENT_END; }

/* ---- util.c ---------------------------------------------------------------- */
void *rt_memcpy(void *d, const void *s, size_t n);
void *rt_memset(void *d, int c, size_t n);
int rt_memcmp(const void *a, const void *b, size_t n);
size_t rt_strlen(const char *s);
int rt_strcmp(const char *a, const char *b);
int rt_strncmp(const char *a, const char *b, size_t n);
int rt_snprintf(char *buf, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4))); /* %s %d %u %x %lx %lu %ld %c %p %% with width/0 */
int rt_vsnprintf(char *buf, size_t n, const char *fmt, va_list ap);
/* mmap for ourselves, in the window that the program does not get: an address, or -errno. */
long rt_own_map(u64 bytes, u32 prot, u32 flags, int fd);
/* Anonymous memory of ours; never fails (dies with one line). */
void *rt_pages(u64 bytes);
void rt_free_pages(void *p, u64 bytes);
/* One clear line on stderr ("interpose: ..."), then exit 1. */
void rt_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Internal fault: guest pc, block, how to report; then exit 1. */
void rt_panic(struct tstate *ts, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));
void rt_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

typedef struct {
    u32 v;
} rt_lock_t; /* futex lock: 0 free, 1 held, 2 contended */
void rt_lock(rt_lock_t *l);
void rt_unlock(rt_lock_t *l);

/* Guest memory; 0 or -EFAULT.  strncpy: length copied without NUL, or -errno. */
long rt_copy_from(void *dst, u64 guest_src, u64 n);
long rt_copy_to(u64 guest_dst, const void *src, u64 n);
long rt_strncpy_from(char *dst, u64 guest_src, u64 n);
/* Load a selector, which the CPU may refuse: then not 0, and rt_signal_copied says why. */
long rt_load_gs(u32 selector);
long rt_load_ss(u32 selector);
long rt_int80(long nr);
extern char rt_copy_begin[], rt_copy_end[], rt_copy_fault[]; /* uaccess.S */

/* ---- chan.c: requests to the supervisor ------------------------------------ */
struct ip_slot *rt_slot(struct tstate *ts);
/* Post a request and wait for the answer.  Fill slot->a[] and data first (rt_slot). */
void rt_request_translator(struct tstate *ts, u32 kind);
void rt_request_python(struct tstate *ts, u32 kind);
void rt_slot_attach(struct tstate *ts); /* give the thread a free slot */
void rt_slot_detach(struct tstate *ts);
/* A byte over the socket: with it the kernel tells the supervisor our process as
 * the supervisor's namespace numbers it. */
void rt_show_pid(void);
/* A line in the log. */
void rt_note(struct tstate *ts, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool rt_supervisor_gone(void);
/* It is: one line, unless it has said why itself, then exit 1. */
void rt_end_alone(void) RT_NORETURN;
/* Have the kernel signal the end of the supervisor (SIGTRAP, si_code SI_SIGIO). */
void rt_watch_supervisor(void);
void rt_signal_when_gone(bool wanted);
extern int rt_watched_fd;
/* The last request is made: the supervisor may go. */
extern bool rt_leaving;

/* The guest's pc in a key: addresses of the kernel, which a program may jump to, have every mode bit. */
static inline u64 rt_pc(u64 key) { return (key >> 48 & 0xfff) == 0xfff ? key : key & IP_KEY_PC; }

/* ---- dispatch.c / entry.S --------------------------------------------------- */
/* Called on the runtime stack whenever translated code leaves; guest state is
 * whole in ts.  Returns when ts->target holds the host address to enter. */
void rt_dispatch(struct tstate *ts);
/* The same for a slow path in the middle of a block (entry.S calls it).  0: ts->target is the place in the block to
 * resume at; 1: it is the entry of a block. */
int rt_slow(struct tstate *ts);
/* Does nothing: a breakpoint of interpose/lockstep may lie here. */
void rt_watched(struct tstate *ts);
/* Load the whole guest state from ts and jump to ts->target.  Never returns. */
void rt_enter(struct tstate *ts) RT_NORETURN;
/* Start running guest code at ts->pc on this thread: rt_enter after a look-up.
 * FS and GS bases must already be the runtime's. */
void rt_run(struct tstate *ts) RT_NORETURN;
/* From now on translations keep every flag and the place of every jump, for a handler may see them. */
void rt_exact(struct tstate *ts);
/* Held across a fork, so that the child does not wait for a flush of the parent's. */
void rt_flush_fork_lock(bool lock);
/* Changes whenever translations are dropped. */
u64 rt_drop_epoch(void);
/* In a fork's child: its tables are as they were at that epoch, its memory is later. */
void rt_forked_tables(struct tstate *ts, u64 epoch);
/* Forget fast-table entries (all of them). */
void rt_flush_fast(void);
/* Host address of the translation of key if it exists, else 0. */
u32 rt_find_translation(u64 key);
/* Find the block that contains a host pc in the code cache; NULL if none. */
const struct ip_block *rt_block_of(u64 host);
/* The precise-state point that governs host address; NULL if none. */
const struct ip_point *rt_point_of(const struct ip_block *b, u64 host);
/* Drop translations made from [addr, addr+len) and the page protections. */
void rt_invalidate(struct tstate *ts, u64 addr, u64 len);
/* The same because of a write: where that happens often, blocks compare bytes instead. */
void rt_invalidate_written(struct tstate *ts, u64 addr, u64 len);
/* A tracer may write anywhere from now on: all blocks compare bytes. */
void rt_invalidate_traced(struct tstate *ts);
/* The block of key is not to be entered again: the next request says so. */
void rt_forget_block(struct tstate *ts, u64 key);
/* Count of translations dropped so far because their mapping changed. */
u64 rt_dropped_blocks(void);
/* No other thread is in a block that it entered before this call, when it
 * returns.  No lock may be held. */
void rt_leave_blocks(struct tstate *ts);

/* ---- far.c ------------------------------------------------------------------ */
/* The instruction that IP_X_FAR stands for. */
void rt_far(struct tstate *ts, const struct ip_insn *in);

/* ---- x87.c ------------------------------------------------------------------ */
/* x87 state was stored in guest memory at addr (enum ip_x87_layout), or in an
 * image of ours in the layout of fxsave64. */
void rt_x87_saved(u64 addr, u32 layout);
void rt_x87_image(u8 *image);

/* ---- loader.c ----------------------------------------------------------------- */
/* Map the program (chan->prog) and its interpreter, build the initial stack from
 * the one the kernel gave us, set ts->pc and ts->gpr[IP_RSP]. */
void rt_load_program(struct tstate *ts, u64 *kernel_sp);
/* Map a shared image of ours (stubs) low; returns its base. */
u64 rt_load_image(struct tstate *ts, const char *path);

/* ---- mm.c: who owns which address --------------------------------------------- */
enum { RT_SEG_ANON, RT_SEG_FILE, RT_SEG_STACK, RT_SEG_BRK, RT_SEG_SHM };
struct rt_seg {
    u64 lo, hi; /* page-aligned, half open */
    u64 off;    /* file offset of lo */
    u64 dev, ino;
    u32 prot;   /* what the guest asked for */
    u16 kind;   /* RT_SEG_* */
    u16 mflags; /* 1 MAP_SHARED, 2 image (low), 4 grows down, 8 announced to Python */
    u32 path;   /* offset into rt_paths, 0 none */
    u32 pad;
};
extern struct rt_seg *rt_segs;
extern u32 rt_nsegs;
extern char *rt_paths;
void rt_mm_init(struct tstate *ts);
/* The table's lock: fork takes it, so that the child does not inherit it held. */
void rt_mm_lock(void);
void rt_mm_unlock(void);
bool rt_find_seg(u64 addr, struct rt_seg *out); /* copy, taken under the lock */
/* Executable memory around addr without a gap, as [range[0], range[1]). */
bool rt_find_code(u64 addr, u64 range[2]);
long rt_sys_mmap(struct tstate *ts);
long rt_sys_munmap(struct tstate *ts);
long rt_sys_mprotect(struct tstate *ts);
long rt_sys_mremap(struct tstate *ts);
long rt_sys_brk(struct tstate *ts);
long rt_sys_shmat(struct tstate *ts);
long rt_sys_shmdt(struct tstate *ts);
long rt_sys_pkey_mprotect(struct tstate *ts);
long rt_sys_madvise(struct tstate *ts);
long rt_sys_mincore(struct tstate *ts);
long rt_sys_mlockall(struct tstate *ts);
long rt_sys_munlockall(struct tstate *ts);
/* A fault just below a MAP_GROWSDOWN mapping: grow it; true if addr is mapped now. */
bool rt_grow_stack(struct tstate *ts, u64 addr);
/* Take W from a writable page because it shall hold translated code, and tell
 * the translator (rt_watched_page) that writes will be noticed; or, where others
 * may write, that they will not. */
void rt_watched_page(struct tstate *ts, u64 page, bool unnoticed);
void rt_protect_code_page(struct tstate *ts, u64 page);
/* A write fault at addr: if it is ours (protected code page), restore W, drop
 * the translations, return true. */
bool rt_code_page_fault(struct tstate *ts, u64 addr);
/* The kernel is about to write there: the same for a whole buffer. */
void rt_open_code_pages(struct tstate *ts, u64 addr, u64 len);
bool rt_have_code_pages(void);
/* A system call has succeeded: did it, or may it from now on, write to code unnoticed? */
void rt_files_after(struct tstate *ts, long nr, const u64 args[6], long result);
/* Guest memory for the runtime's use in the client's range (heap); 0: there is none. */
u64 rt_map_client(u64 hint_low, u64 len, int prot);

/* ---- syscall.c ------------------------------------------------------------------ */
/* Execute the system call in ts (rax = number); sets rax, rcx, r11, ts->pc. */
void rt_syscall(struct tstate *ts, u64 next_pc);
/* The raw kernel entry with the interruptible window (syscall_asm.S): returns
 * the result, or RT_INTERRUPTED if a signal was recorded before the kernel began. */
#define RT_INTERRUPTED (-4096L)
/* Answer of a rt_sys_ function that has set the whole guest state itself
 * (rt_sigreturn, a failed frame): rax, rcx, r11 and pc stay as they are.  A
 * rt_sys_ function may also answer RT_INTERRUPTED: deliver, then execute again. */
#define RT_NO_RESULT (-4097L)
long rt_kernel(struct rt_thread *th, long nr, const u64 args[6]);
/* The i386 system call of ts, made by int $0x80; and the kernel's answer to one. */
void rt_syscall32(struct tstate *ts, u64 next_pc);
long rt_kernel32(struct rt_thread *th, long nr, const u64 args[6]);
/* procfs.c: a path of the guest's leads through /proc/.../exe. */
bool rt_names_own_exe(int dirfd, u64 guest_path);
void rt_learn_own_exe(void);
void rt_cache_for_perf(void);   /* identity.c; the cache is mapped */
extern bool rt_exe_is_programs; /* identity.c: what is there is the program for everybody */
/* procfs_read.c: a descriptor has a copy; the child of a fork begins. */
void rt_proc_copied(int from, int to);
void rt_proc_after_fork(void);
bool rt_fd_is_ours(int fd); /* syscall_fd.c */
/* tracer.c: by process_vm_writev, or (0) by a memory file of another process. */
void rt_may_write_others(u32 pid);
extern char rt_kernel_begin[], rt_kernel_insn[], rt_kernel_end[];
/* The same, subject to the guest's filters in the kernel (seccomp.c). */
long rt_asking_kernel(struct rt_thread *th, long nr, const u64 args[6]);
extern char rt_asking_insn[];

/* ---- limits.c: RLIMIT_AS and RLIMIT_DATA without our own memory ------------------ */
void rt_limits_init(void);
bool rt_capable(u32 which); /* below 32 */
bool rt_guest_limit(u32 which, u64 *cur, u64 *max);
void rt_limits_before_exec(struct rt_thread *th);
void rt_limits_after_exec(struct rt_thread *th);
/* The same for an image of ours, which lifts them again. */
#define RT_LIMITS_BYTES 32
void rt_limits_save(struct rt_thread *th, void *to);
void rt_limits_restore(const void *from);
long rt_sys_getrlimit(struct tstate *ts);
long rt_sys_setrlimit(struct tstate *ts);
long rt_sys_prlimit64(struct tstate *ts);
/* Those of i386: two words; what does not fit shows as highest. */
long rt_set_limit32(struct tstate *ts, u32 which, u64 at);
long rt_get_limit32(struct tstate *ts, u32 which, u64 at, u32 highest);
/* RLIMIT_NOFILE as high as may be for a moment; false: as it was. */
struct rlimit64;
bool rt_more_files(struct rlimit64 *before);
void rt_files_as_before(const struct rlimit64 *before);

/* ---- signal.c ------------------------------------------------------------------- */
void rt_signal_init(struct tstate *ts);
void rt_signal_thread_init(struct tstate *ts);
/* Deliver a recorded signal, if any, by changing ts to the handler's entry. */
void rt_signal_deliver(struct tstate *ts);
/* Raise a synchronous signal for the guest at ts->pc. */
void rt_signal_raise(struct tstate *ts, int sig, int code, u64 addr);
/* The signal of an exception without an address at ts->pc: 4 overflow, 11 segment not present, 12 stack, 13
 * general protection, 17 alignment check. */
void rt_signal_exception(struct tstate *ts, enum ip_vector vector, u32 err);
/* What rt_copy_from, rt_copy_to, rt_load_gs or rt_load_ss just failed with, for the guest at ts->pc: true: not
 * yet, try again (a stack has grown).  stack: the access is one of the stack segment. */
bool rt_signal_copied(struct tstate *ts, bool stack);
/* Is it an address at all, to this CPU? */
bool rt_canonical(u64 addr);
/* int1 by the guest: ts->pc is behind it, len bytes. */
void rt_signal_int1(struct tstate *ts, u32 len);
/* SIGSYS instead of a system call of the guest: si_code, si_syscall, si_errno, si_arch, si_call_addr. */
void rt_signal_sys(struct tstate *ts, int code, int nr, int error, u32 arch, u64 call_addr);
long rt_sys_rt_sigaction(struct tstate *ts);
long rt_sys_rt_sigprocmask(struct tstate *ts);
long rt_sys_rt_sigreturn(struct tstate *ts);
long rt_sys_rt_sigsuspend(struct tstate *ts);
long rt_sys_rt_sigtimedwait(struct tstate *ts);
long rt_sys_rt_sigpending(struct tstate *ts);
long rt_sys_ppoll(struct tstate *ts);
long rt_sys_pselect6(struct tstate *ts);
long rt_sys_epoll_pwait(struct tstate *ts);
long rt_sys_epoll_pwait2(struct tstate *ts);
long rt_sys_io_pgetevents(struct tstate *ts);
long rt_sys_sigaltstack(struct tstate *ts);
/* Make another thread leave translated code at its next boundary. */
void rt_kick(struct rt_thread *th);
/* To be called when a helper is about to resume in the middle of a block and
 * th->pending is set: arms single-stepping through ts->rflags.  The test of
 * pending that leads here must lie between rt_asm_begin and rt_asm_end. */
void rt_signal_step(struct tstate *ts);
/* A fault of translated code on its shadow access.  true: the shadow has been
 * put right, execute again.  The weak default answers false. */
bool rt_shadow_fault(struct tstate *ts, u64 guest_addr, bool write);

/* ---- exec.c: what the runtime carries over an exec of itself ----------------------- */
void rt_carried_over(struct tstate *ts);

/* ---- callstack.c ------------------------------------------------------------------ */
void rt_callstack_new(struct tstate *ts, bool first);
void rt_callstack_push(struct tstate *ts, u64 retaddr, u64 slot);
/* RSP has been loaded with sp: frames below it, from lo on, are over. */
void rt_callstack_drop(struct tstate *ts, u64 lo, u64 sp);

/* ---- thread.c, process.c --------------------------------------------------------- */
/* Once, on the main thread: name, ptracer, descriptors that an exec closes. */
void rt_process_init(struct tstate *ts);
struct tstate *rt_thread_new(void); /* tstate, stacks, call stack, slot */
void rt_thread_free(struct tstate *ts);
struct tstate *rt_thread_by_index(u32 i); /* NULL past the end */
long rt_sys_clone(struct tstate *ts);
long rt_sys_clone3(struct tstate *ts);
long rt_sys_fork(struct tstate *ts);
long rt_sys_vfork(struct tstate *ts);
long rt_sys_execve(struct tstate *ts);
long rt_sys_execveat(struct tstate *ts);
long rt_sys_exit(struct tstate *ts);
long rt_sys_exit_group(struct tstate *ts);
long rt_sys_set_tid_address(struct tstate *ts);
long rt_sys_arch_prctl(struct tstate *ts);
long rt_sys_personality(struct tstate *ts);
long rt_sys_prctl(struct tstate *ts);
void rt_find_mdwe(void);
void rt_find_tsc(struct tstate *ts); /* of this thread; kept over an exec */
/* rt.final_calls: whether a call is left undone, and what it answers. */
bool process_keeps_quiet(long nr, const u64 args[6], long *result);
void rt_exit_process(struct tstate *ts, int status) RT_NORETURN; /* reports, then exits */
void rt_die_by_signal(struct tstate *ts, int sig, int code, u64 addr) RT_NORETURN;

/* ---- request.c: client requests ---------------------------------------------------- */
void rt_client_request(struct tstate *ts, u64 next_pc);
/* Enter a guest function on behalf of a request; when it returns, every guest
 * register is as now, but rdx = its result and pc = next_pc.  false: nested too
 * deep.  rt_call_return: the guest jumped to the magic return address. */
#define RT_CALL_RETURN 0x7fff0000ull
/* Address of a function of the program by its symbol, 0 if there is none. */
u64 rt_find_function(struct tstate *ts, const char *name);
bool rt_call_guest(struct tstate *ts, u64 fn, u64 next_pc);
bool rt_call_return(struct tstate *ts); /* false: no call is under way */

/* ---- shadow (interpose/shadow): no-ops unless IP_C_SHADOW --------------------------- */
/* States of a range. */
enum { RT_SH_DEFINED, RT_SH_UNDEFINED, RT_SH_NOACCESS };
void rt_shadow_init(struct tstate *ts);
/* The main stack is now mapped from lo on, not from old_lo. */
void rt_shadow_stack_grown(struct tstate *ts, u64 lo, u64 old_lo, u64 hi);
/* A client mapping came: its shadow is mapped with it.  state = RT_SH_*. */
void rt_shadow_mapped(u64 addr, u64 len, int state);
void rt_shadow_unmapped(u64 addr, u64 len);
void rt_shadow_moved(u64 from, u64 to, u64 len);  /* mremap */
void rt_shadow_set(u64 addr, u64 len, int state); /* any alignment */
/* Stack region known (main, clone, sigaltstack): below sp becomes 0xff. */
void rt_shadow_stack(u64 lo, u64 hi, u64 sp);
/* Region that contains sp: registered stack, heap block or mapping. */
bool rt_stack_region(u64 sp, u64 *lo, u64 *hi);
/* First bad byte, or 0: addressability; definedness.  Only mapped ranges are read. */
u64 rt_shadow_first_unaddr(struct tstate *ts, u64 addr, u64 len);
u64 rt_shadow_first_undef(u64 addr, u64 len);
/* Slow paths reached from translated code through entry.S (ts whole). */
void rt_load_slow(struct tstate *ts);
void rt_store_slow(struct tstate *ts);
void rt_stack_changed(struct tstate *ts, u64 old_sp, u64 new_sp);
/* The program's own instruction did it: --max-stackframe's warning. */
void rt_stack_stepped(struct tstate *ts, u64 old_sp, u64 new_sp);
/* RSP's new value may be that of another stack. */
void rt_stack_loaded(struct tstate *ts, u64 old_sp, u64 new_sp);
/* The same, but what lies in the new red zone stays as it is, until a call or return. */
void rt_stack_raised(struct tstate *ts, u64 old_sp, u64 new_sp);
/* From a handler to what it interrupted, whose red zone stays. */
void rt_stack_returned(struct tstate *ts, u64 old_sp, u64 new_sp);
void rt_track_insn(struct tstate *ts, const struct ip_insn *in);
/* Report (deduplicated in the client by kind, pc and stack). */
void rt_report_error(struct tstate *ts, struct ip_error *e);
/* Guest stack trace: frames[0] = ts->pc, then return addresses; returns count. */
u32 rt_stack_trace(struct tstate *ts, u64 *frames, u32 max);
/* System-call arguments (tools/memcheck/client/syscall_check.c): before and after the call. */
void rt_shadow_syscall_pre(struct tstate *ts, long nr, const u64 args[6]);
void rt_shadow_syscall_post(struct tstate *ts, long nr, const u64 args[6], long result);

/* A jump to an address without code (memcheck's Jump error); optional. */
void rt_report_jump(struct tstate *ts, u64 pc) __attribute__((weak));
/* The instruction at ts->pc is about to fault because nothing is mapped at addr. */
void rt_report_no_memory(struct tstate *ts, u64 addr);
/* Was that access reported before a signal came between, so that it is checked a second time?  (sigtold.c) */
bool rt_told_before(struct tstate *ts, u64 addr);
/* It has faulted so. */
void rt_report_fault(struct tstate *ts, u64 addr);

/* Held across a fork, so that the child's copies are whole. */
void rt_shadow_fork_lock(bool lock);
void rt_heap_fork_lock(void);
void rt_heap_fork_unlock(void);

/* ---- heap (interpose/heap/heap.c): replaced malloc family ----------------------------- */
u64 rt_heap_request(struct tstate *ts, u64 code, const u64 args[5]);

#endif
