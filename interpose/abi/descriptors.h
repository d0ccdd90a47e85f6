/* What the runtime tells of the program's descriptors (--track-fds): IP_R_FDS, with struct ip_fd in data for the
 * events marked so, then a stack trace where one is kept.  cffi parses this file. */
#ifndef INTERPOSE_ABI_DESCRIPTORS_H
#define INTERPOSE_ABI_DESCRIPTORS_H

#include <stdint.h>

/* a0.  a1: number of the table of descriptors (0: the one that the program began with). */
enum ip_fd_event {
    IP_FD_FOUND,   /* data: numbers (int32_t) that are open as the program begins */
    IP_FD_COPIED,  /* table a2 begins as a copy of table a1 */
    IP_FD_OPENED,  /* ip_fd; what had the number before is closed */
    IP_FD_CHANGED, /* ip_fd: a socket has an address now */
    IP_FD_CLOSING, /* ip_fd: about to be closed */
    IP_FD_NO_MORE, /* ip_fd, only the number: a close of one that is not open */
    IP_FD_UNKNOWN, /* ip_fd, only the number: another use of one that is not open */
    IP_FD_LEFT     /* data: numbers (int32_t) that are open as the program ends; a2 = 1: more follow */
};

struct ip_fd {
    int32_t number;
    int32_t domain; /* of a socket; -1: it is none */
    uint32_t name_bytes, peer_bytes, path_bytes;
    uint8_t name[128], peer[128]; /* struct sockaddr */
    uint8_t path[1024];           /* as the kernel names it, cut off at its end */
};

#endif
