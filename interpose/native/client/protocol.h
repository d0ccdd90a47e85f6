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
};

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
    uint32_t thread; /* who tells, and the parent of a new child, by their numbers in their own namespace */
    uint32_t parent;
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

struct ip_native_claim {
    uint64_t address;
    uint64_t target;
    uint32_t wraps; /* 1: a wrapper, which may ask for the original; 0: a replacement */
    uint32_t room;  /* first bytes of the function that may be overwritten */
};

#endif
