/* The program's descriptors (--track-fds): what the runtime notes of them in its own memory, where the supervisor
 * reads it when there is something to say, and what it tells (IP_R_FDS).  cffi parses this file. */
#ifndef INTERPOSE_ABI_DESCRIPTORS_H
#define INTERPOSE_ABI_DESCRIPTORS_H

#include <stdint.h>

/* a0.  a1: number of the table of descriptors (0: the one that the program began with). */
enum ip_fd_event {
    IP_FD_BEGIN,   /* a2: address of struct ip_fds */
    IP_FD_STACK,   /* where the thread is, for no call stack is kept: in data comes a stack trace, its length in r0 */
    IP_FD_NO_MORE, /* a close of number a2, which is not open; a3: address of its ip_fd, or 0.  A stack trace in data */
    IP_FD_UNKNOWN, /* another use of such a number; the same */
    IP_FD_LEFT     /* data: numbers (int32_t) that are open as the program ends; a2 = 1: more follow */
};

enum ip_fd_state { IP_FD_NEVER, IP_FD_OPEN, IP_FD_CLOSED };

#define IP_FD_FRAMES 500

struct ip_fd {
    int32_t number;
    uint32_t files;                     /* number of the table it is in */
    uint32_t state, inherited;          /* enum ip_fd_state */
    uint64_t opened, closed;            /* when: from 1 on; 0: in a way that is not followed */
    int32_t domain;                     /* of a socket; -1: it is none */
    uint32_t name_bytes, peer_bytes;    /* struct sockaddr */
    uint32_t path_bytes;                /* as the program or else the kernel names it, cut off at its end */
    uint64_t text;                      /* address of name, peer and path, one behind the other */
    uint64_t frames;                    /* of where it was opened, then, from limit on, where it was closed */
    uint32_t limit, n_opened, n_closed; /* frames */
    uint32_t text_room;                 /* the runtime's, as is what follows */
    uint64_t next;
};

struct ip_fd_chunk {
    uint64_t next; /* address of another one, made before, or 0 */
    uint64_t used;
    struct ip_fd fd[500];
};

struct ip_fds {
    uint64_t version; /* odd: something is being changed */
    uint64_t chunks;  /* address of the newest */
};

#endif
