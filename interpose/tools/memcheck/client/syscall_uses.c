/* System calls that do several things: which of their arguments each has. */
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/sched.h>

#include "tools/memcheck/client/syscall_uses.h"

#define TMPFILE      020000000 /* the bit of O_TMPFILE that is its own */
#define COUNT(table) (sizeof(table) / sizeof *(table))

enum { FUTEX_VAL = 1, FUTEX_UTIME = 2, FUTEX_UADDR2 = 4, FUTEX_VAL3 = 8 };

#define FUTEX_OPERATIONS 14

/* futex(2). */
static u32 futex_uses(u64 op) {
    static const u8 uses[FUTEX_OPERATIONS] = {
        [0] = FUTEX_VAL | FUTEX_UTIME,                              /* WAIT */
        [1] = FUTEX_VAL,                                            /* WAKE */
        [3] = FUTEX_VAL | FUTEX_UTIME | FUTEX_UADDR2,               /* REQUEUE */
        [4] = FUTEX_VAL | FUTEX_UTIME | FUTEX_UADDR2 | FUTEX_VAL3,  /* CMP_REQUEUE */
        [5] = FUTEX_VAL | FUTEX_UTIME | FUTEX_UADDR2 | FUTEX_VAL3,  /* WAKE_OP */
        [6] = FUTEX_UTIME,                                          /* LOCK_PI */
        [9] = FUTEX_VAL | FUTEX_UTIME | FUTEX_VAL3,                 /* WAIT_BITSET */
        [10] = FUTEX_VAL | FUTEX_VAL3,                              /* WAKE_BITSET */
        [11] = FUTEX_VAL | FUTEX_UTIME | FUTEX_UADDR2,              /* WAIT_REQUEUE_PI */
        [12] = FUTEX_VAL | FUTEX_UTIME | FUTEX_UADDR2 | FUTEX_VAL3, /* CMP_REQUEUE_PI */
        [13] = FUTEX_UTIME,                                         /* LOCK_PI2 */
    };
    op &= 0x7f; /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
    return op < COUNT(uses) ? uses[op] : 0;
}

bool sh_futex_knows(u64 op) { return (op & 0x7f) < FUTEX_OPERATIONS; }

bool sh_futex_waits(u64 op) {
    op &= 0x7f;
    return op == 0 || op == 6 || op == 9 || op == 11 || op == 13;
}

/* prctl(2): how many arguments follow the option.  Those that must be zero are looked at. */
static u32 prctl_has(u64 option) {
    static const u8 has[] = {
        [1] = 1,  1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, /* PDEATHSIG ... GET_NAME */
        [19] = 1, 1, 0, 2, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0,       /* ENDIAN ... TASK_PERF_EVENTS_ENABLE */
        [33] = 4, 4, 4, 1, 1, 4, 4, 1, 4, 4, 4, 4, 1, 0,       /* MCE_KILL ... GET_FP_MODE */
    };
    return option == 0x59616d61 /* PR_SET_PTRACER */ ? 1 : option < COUNT(has) && option != 0 ? has[option] : 4;
}

/* keyctl(2). */
static u32 keyctl_has(u64 operation) {
    static const u8 has[] = {2, 1, 3, 1, 3, 2, 3, 1, 2, 2, 4, 3, 4, 3, 1, 2, 1,
                             3, 0, 4, 4, 1, 2, 4, 4, 4, 4, 4, 4, 3, 4, 2, 3};
    return operation < COUNT(has) ? has[operation] : 4;
}

static bool fcntl_has(u64 command) {
    switch ((u32)command) {
    case 1:
    case 3:
    case 9:
    case 11: /* F_GETFD GETFL GETOWN GETSIG */
    case 1025:
    case 1032:
    case 1034: /* F_GETLEASE GETPIPE_SZ GET_SEALS */ return false;
    default: return true;
    }
}

static bool semctl_has(u64 command) {
    switch ((u32)command & ~0x100u) {
    case 0:
    case 11:
    case 12:
    case 14:
    case 15: /* IPC_RMID GETPID GETVAL GETNCNT GETZCNT */ return false;
    default: return true;
    }
}

bool sh_syscall_uses(long nr, const u64 args[6], u32 i) {
    switch (nr) {
    case __NR_futex: return i < 2 || (futex_uses(args[1]) >> (i - 2) & 1);
    case __NR_prctl: return i <= prctl_has((u32)args[0]);
    case __NR_keyctl: return i <= keyctl_has((u32)args[0]);
    case __NR_fcntl: return i < 2 || fcntl_has(args[1]);
    case __NR_semctl: return i < 3 || semctl_has(args[2]);
    case __NR_ptrace: return i < 1 || args[0] != 0; /* PTRACE_TRACEME */
    default: return true;
    }
}

bool sh_condition_holds(long nr, const u64 args[6], u32 i) {
    switch (nr) {
    case __NR_open: return args[1] & (O_CREAT | TMPFILE);
    case __NR_openat: return args[2] & (O_CREAT | TMPFILE);
    case __NR_mq_open: return args[1] & O_CREAT;
    case __NR_mremap: return args[3] & (MREMAP_FIXED | MREMAP_DONTUNMAP);
    case __NR_clone:
        return i == 2   ? args[0] & (CLONE_PARENT_SETTID | CLONE_PIDFD)
               : i == 3 ? args[0] & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)
                        : args[0] & CLONE_SETTLS;
    default: return false;
    }
}
