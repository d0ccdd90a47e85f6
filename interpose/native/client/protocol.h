/* What the client part of the native engine and its supervisor say to each other: one connection for each event.
 *
 * The client sends a greeting, the objects of the dynamic linker and what is bound; the supervisor answers with orders,
 * the last of which is IP_NATIVE_DONE. All numbers are in the machine's order. The layouts stand once more in
 * interpose/native/wire.py.
 */
#ifndef INTERPOSE_NATIVE_PROTOCOL_H
#define INTERPOSE_NATIVE_PROTOCOL_H

#include <stdint.h>

#define IP_NATIVE_MAGIC 0x6e697031 /* "1pin" */

enum ip_native_event {
    IP_NATIVE_LINKED = 1,  /* objects came or went */
    IP_NATIVE_FORKED = 2,  /* this process is a new child */
    IP_NATIVE_EXEC = 3,    /* it is about to execute a program: trace it */
    IP_NATIVE_NO_EXEC = 4, /* that failed */
    IP_NATIVE_LOOKUP = 5,  /* the process that runs the hooks asks for a name; what follows is JSON */
    IP_NATIVE_EXITS = 6,   /* it is about to end; value is the code */
    IP_NATIVE_FORKS = 7,   /* it is about to fork; the child has told as much when all ends of this are closed */
};

enum { IP_NATIVE_NAME = 64 }; /* bytes of a socket's name, with the NUL behind it; none if there are no hooks */

/* Descriptor numbers below this are the program's; what keeps them from the agent has this name. Where the limit is
 * low, the agent gets this much room. */
#define IP_NATIVE_LOW   960
#define IP_NATIVE_ROOM  48
#define IP_NATIVE_SPARE "interpose-spare"

enum ip_native_order {
    IP_NATIVE_DONE = 0,
    IP_NATIVE_PATCH = 1,   /* count of struct ip_native_patch */
    IP_NATIVE_UNBIND = 2,  /* count of addresses */
    IP_NATIVE_BIND = 3,    /* count of struct ip_native_claim; answered by one word for each, 0: done */
    IP_NATIVE_RESOLVE = 4, /* count of resolvers to call; answered by what each returned */
    IP_NATIVE_FORGET = 5,  /* count of addresses whose code is not mapped any more */
};

/* The markers that are rewritten; the values are what the marker's exchange does. */
enum ip_native_marker { IP_NATIVE_NRADDR = 1, IP_NATIVE_CALL = 2 };

struct ip_native_greeting {
    uint32_t magic;
    uint32_t event;
    uint8_t token[16];
    uint32_t objects;
    uint32_t bound;
    uint32_t thread;       /* who tells, by its number in its own namespace */
    uint32_t value;        /* more about the event: the parent of a new child, by its number there, or a code */
    uint64_t hook_entries; /* where the stubs of hooks are: the first entry, and what follows all of them */
    uint64_t hook_common;
    uint64_t initialise; /* what stands before a constructor for once, to tell that its object is linked */
    char hooks[IP_NATIVE_NAME];
};

/* Followed by its name, as the dynamic linker has it. */
struct ip_native_object {
    uint64_t bias;
    uint64_t dynamic;
    uint32_t name_size;
    uint32_t unused;
};

struct ip_native_head {
    uint32_t order;
    uint32_t count;
};

struct ip_native_patch {
    uint64_t address;
    uint64_t marker;
};

enum ip_native_kind {
    IP_NATIVE_REPLACES = 0,
    IP_NATIVE_WRAPS = 1, /* may ask for the original */
    IP_NATIVE_HOOKS = 2, /* finds it on the stack: an entry of the stubs, or ip_native_initialise */
};

struct ip_native_claim {
    uint64_t address;
    uint64_t target;
    uint32_t wraps; /* enum ip_native_kind */
    uint32_t room;  /* first bytes of the function that may be overwritten */
    uint64_t cave;  /* padding that a jump of two bytes reaches, where there is no room for five; or 0 */
};

/* ---- hooks in Python: between the stubs and the process that runs them ------------------------------------------
 *
 * A connection begins with a hello and a welcome. Then each turn is an event, followed by the stub's frame, and an
 * answer, followed by the frame as it is to be and by the writes: address, size, bytes. */

enum ip_native_hello_flags {
    IP_NATIVE_STARTS = 1, /* a program begins */
    IP_NATIVE_COPIES = 2, /* this process is about to fork: a copy of whoever runs the hooks shall wait for the child */
    IP_NATIVE_SHARES = 4, /* a child that has its parent's memory (vfork) */
};

struct ip_native_hello {
    uint32_t magic;
    uint32_t flags;
    uint8_t token[16];
    uint64_t entries;
    uint64_t common;
};

struct ip_native_welcome {
    uint32_t moved; /* the hooks of this process, or of the child, are run by another one: */
    uint32_t unused;
    char name[IP_NATIVE_NAME];
};

struct ip_native_hooked {
    uint64_t frame;
    uint32_t room; /* words that may be read from the first argument on the stack on, as far as that was looked at */
    uint32_t failed;
    uint32_t again; /* of the last answer (abi/hook.h); 0: the stub itself asks */
    uint32_t thread;
};

struct ip_native_answer {
    uint32_t action;
    uint32_t again;
    uint32_t writes;
    uint32_t unused;
};

#endif
