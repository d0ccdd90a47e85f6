/* What the command (interpose/launcher) hears from the Python process that it has started: one header over the socket
 * that becomes the client's, then `size` bytes, and descriptors with IP_LAUNCH_READY.  cffi parses this file. */
#ifndef INTERPOSE_ABI_LAUNCH_H
#define INTERPOSE_ABI_LAUNCH_H

#include <stdint.h>

/* Each begins with a byte of its own; IP_TOLD (abi/channel.h) is another one, and comes alone. */
enum ip_launch_kind {
    IP_LAUNCH_READY =
        1, /* it serves: IP_LAUNCH_FILES descriptors, then words that end with 0: the runtime, arguments */
    IP_LAUNCH_AGAIN = 3, /* this is no run of a program: what was asked for is done in the process that the user has */
    IP_LAUNCH_END = 4    /* it has said why there is no run: that process ends with `code` */
};

struct ip_launch {
    uint8_t kind, code;
    uint16_t none;
    uint32_t size;
};

#define IP_LAUNCH_FILES 4 /* runtime, channel, cache, meta; the socket is the fifth that the client gets */

/* The client's descriptors stand as high as they can, out of the program's way, but not at the top of a large table,
 * which the kernel would have to copy at each fork. */
#define IP_HIGHEST_FD 4096

#define IP_FEW_FILES 64 /* descriptors that starting a program gets along with */

#endif
