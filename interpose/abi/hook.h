/* A hooked call, as it lies on the program's stack while a function in Python stands for the program's
 * (wrappers/hook_stubs.S, docs/hooks.md).  The stub's assembly has the offsets; runtime/base/abi_check.c asserts them.
 * cffi parses this file. */
#ifndef INTERPOSE_HOOK_H
#define INTERPOSE_HOOK_H

#include <stdint.h>

#define IP_HOOK_ENTRIES    4096 /* so many hooks can be bound */
#define IP_HOOK_ENTRY_SIZE 8
#define IP_HOOK_STACK      0x1b0 /* from the frame to the first argument on the stack */
#define IP_HOOK_RETURN     0x1a8 /* from the frame to the return address of the hooked function */

/* Answers to the stub. */
enum ip_hook_answer {
    IP_HOOK_LEAVE,   /* return to the caller with the results of the frame */
    IP_HOOK_PROCEED, /* call target past its binding */
    IP_HOOK_CALL,    /* call target as any code would */
    IP_HOOK_ROOM     /* take bytes of the stack, to lie there until the stub returns */
};

/* Why the stub asks (words[3]). */
enum ip_hook_event { IP_HOOK_ENTERED, IP_HOOK_RETURNED, IP_HOOK_HAS_ROOM };

/* What the supervisor has the runtime do before that (r1 of IP_R_HOOK). */
enum ip_hook_again {
    IP_HOOK_DONE,
    IP_HOOK_AGAIN, /* write what data holds, and ask again */
    IP_HOOK_TRACE  /* the same, with a stack trace behind the frame */
};

struct ip_hook_frame {
    uint64_t words[6];   /* 0x000: the request: code, address of this, where the entry goes on, event */
    uint64_t id;         /* 0x030: the supervisor's number of the call */
    uint64_t original;   /* 0x038: address of the hooked function */
    uint64_t target;     /* 0x040: what to call */
    uint64_t copied;     /* 0x048: how many words of the arguments on the stack it gets; even */
    uint64_t room;       /* 0x050: bytes */
    uint64_t top;        /* 0x058: RSP while nothing is called */
    uint64_t integer[6]; /* 0x060: RDI, RSI, RDX, RCX, R8, R9 */
    uint64_t vectors;    /* 0x090: RAX: AL is how many vector registers a variadic call uses */
    uint64_t chain;      /* 0x098: R10 */
    uint64_t vector[16]; /* 0x0a0: XMM0 to XMM7 */
    uint64_t result[2];  /* 0x120: RAX, RDX */
    uint64_t vresult[4]; /* 0x130: XMM0, XMM1 */
    uint64_t kept[7];    /* 0x150: RCX, RSI, RDI, R8 to R11 as the original leaves them, or as they were: within a file
                            compilers rely on what a function leaves alone (-fipa-ra) */
    uint64_t changed;    /* 0x188: address of pairs, index and word: what it gets in the place of words on the stack */
    uint64_t changes;    /* 0x190: how many pairs */
};

#endif
