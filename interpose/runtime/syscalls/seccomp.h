/* Filters and strict mode that the guest installs (seccomp.c, bpf.c). */
#ifndef INTERPOSE_SECCOMP_H
#define INTERPOSE_SECCOMP_H

#include "runtime/base/rt.h"

struct bpf_insn { /* struct sock_filter */
    u16 code;
    u8 jt, jf;
    u32 k;
};
struct seccomp_call { /* struct seccomp_data */
    u32 nr, arch;
    u64 ip, args[6];
};
/* The value that a program the kernel has accepted returns for a call. */
u32 bpf_run(const struct bpf_insn *prog, u32 len, const struct seccomp_call *call);

enum seccomp_abi { SECCOMP_64, SECCOMP_32 };
/* Judge the call nr of ts.  true: it proceeds.  false: *result is its answer,
 * RT_NO_RESULT if the guest's state is already set. */
bool rt_seccomp(struct tstate *ts, long nr, const u64 args[6], u64 next_pc, enum seccomp_abi abi, long *result);
/* SIGSYS instead of the call, at the instruction behind it. */
void seccomp_signal(struct tstate *ts, int code, long nr, int error, u64 next_pc, enum seccomp_abi abi);
/* userdispatch.c: is the call the program's own to answer?  The signal is then on its way. */
bool rt_userdispatch(struct tstate *ts, long nr, u64 next_pc, enum seccomp_abi abi);
long userdispatch_prctl(struct tstate *ts, u64 mode, u64 offset, u64 len, u64 selector);
/* A new task of the program (on shared memory) is restricted as its maker. */
void seccomp_inherit(struct tstate *parent, struct tstate *child);
/* Held while a thread is made: installing for all threads must not miss it. */
void seccomp_lock(bool lock);
/* prctl(PR_SET_SECCOMP, mode, filter). */
long seccomp_prctl(struct tstate *ts, u64 mode, u64 prog);
/* For an image that the runtime executes: bytes needed (0: nothing), the data,
 * and its way back into the first thread. */
u64 seccomp_saved_size(struct tstate *ts);
void seccomp_save(struct tstate *ts, void *to);
void seccomp_restore(struct tstate *ts, const void *from, u64 size);

#endif
