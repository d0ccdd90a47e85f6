/* The native engine's part in the program: thunks, the table of originals, and the way to the supervisor. */
#ifndef INTERPOSE_NATIVE_H
#define INTERPOSE_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#include "native/client/protocol.h"
#include "runtime/base/sys.h"

#define IP_PUBLIC __attribute__((visibility("default")))

/* What one call of the agent's asks for; it fills original, or failed. */
struct ip_native_item {
    uint64_t address;
    uint64_t thunk;
    uint64_t original;
    uint64_t failed;
    uint64_t cave;
};

/* Given by the agent once: where things are, and its two functions, which carry out what Frida's interceptor can. */
struct ip_native_setup {
    void (*bind)(struct ip_native_item *items, uint64_t count);
    void (*flush)(void);
    void (*unbind)(uint64_t address);
    void (*wait)(void); /* until no other thread is in the agent's script */
    uint64_t debug;     /* struct r_debug of the dynamic linker */
    char socket[IP_NATIVE_NAME];
    uint8_t token[16];
    /* How to execute, where the engine follows: what the interceptor made of the C library's functions. */
    long (*execve)(const char *path, char *const *argv, char *const *envp);
    long (*execveat)(int folder, const char *path, char *const *argv, char *const *envp, int flags);
    long (*fexecve)(int fd, char *const *argv, char *const *envp);
    char hooks[IP_NATIVE_NAME]; /* the socket of the process that runs the hooks; none: there are no hooks */
    void (*exit)(int code);     /* the C library's _exit, where the engine reports ends */
    const char *(*leave)(void); /* undo what the agent's script has done; in a forked child another agent calls it */
    void (*finish)(void);
};

/* One for each thread. The offsets of both from the thread pointer are part of generated code. */
struct ip_native_thread {
    uint64_t original; /* what a wrapper's marker gives: the function that its caller meant */
    uint64_t passes;   /* 8 in a thread of the agent's, whose calls are not redirected; else 0 */
};
enum { IP_NATIVE_PASSES = 8 };
extern __thread struct ip_native_thread ip_native_thread __attribute__((tls_model("initial-exec")));

static inline int64_t ip_native_offset(const void *field) {
    uint64_t base;
    __asm__("mov %%fs:0, %0" : "=r"(base));
    return (int64_t)((uint64_t)field - base);
}

/* ---- bindings.c ------------------------------------------------------------------------------ */

struct ip_native_binding {
    uint64_t address;
    uint64_t target; /* the wrapper */
    uint64_t original;
    uint64_t *ways; /* where its thunk leads: the wrapper, or what stands in for it */
    uint32_t wraps;
    uint32_t room;
    uint64_t cave;
};

extern const struct ip_native_setup *ip_native_setup;
extern struct ip_native_binding *ip_native_bindings;
extern uint32_t ip_native_bound;

/* 0, or why not. */
void ip_native_bind(const struct ip_native_claim *claims, uint64_t *failed, uint32_t count);
void ip_native_unbind(uint64_t address, int unmapped);
/* Let all calls pass whose wrappers may be about to go, or go on as ever. */
void ip_native_pause(int paused);
void ip_native_rewrite(uint64_t address, uint64_t marker);

/* The code that CALL_FN goes through, in call.S: rax is the function that is meant. */
extern const char ip_native_call[];
/* Tells the supervisor before a constructor runs, in call.S. */
extern const char ip_native_initialise[];
/* Open addressing, ended by an empty entry; address 1 is a removed one. The first row is no entry but the mask that an
 * address is looked up with: whoever reads has both by one load. */
struct ip_native_original {
    uint64_t address;
    uint64_t original;
};
extern struct ip_native_original *ip_native_originals;
/* The code to call in order to pass the binding of a function. */
uint64_t ip_native_original(uint64_t address);

/* ---- events.c ---------------------------------------------------------------------------------- */

#define IP_NATIVE_NOSIGNAL 0x4000 /* MSG_NOSIGNAL */

/* A connection with whoever listens at a name; below 0: it is gone. Needs little stack. */
int ip_native_connect(const char *name);
/* An event that has nothing to it; returns when the supervisor has heard it. */
void ip_native_tell(uint32_t event, uint32_t value);

/* ---- hooks.c ----------------------------------------------------------------------------------- */

/* The stubs (wrappers/hook_stubs.S). */
extern const char interpose_hook_entries[], interpose_hook[];

void ip_native_hooks_start(void);
void ip_native_hooks_stop(void);
/* Around a fork of the C library's. */
void ip_native_hooks_fork(void);
void ip_native_hooks_in_parent(void);
void ip_native_hooks_in_child(void);
/* Who runs the hooks at present. */
const char *ip_native_hooks_name(void);

/* ---- memory.c -------------------------------------------------------------------------------- */

void *ip_native_map(size_t size, int protection, int flags);
/* What ip_native_unmap_all() gives back; ip_native_map() notes its own. */
void ip_native_mapped(void *start, size_t size);
void ip_native_unmap_all(void);
void ip_native_lock(void);
void ip_native_unlock(void);
/* In a forked child, whose thread has another number than the one that took the lock. */
void ip_native_take_over(void);

#endif
