/* System calls for Python, which has them in modules of its own that take a fifth of a millisecond each to load.
 * cffi parses this file. */
#ifndef INTERPOSE_SYSTEM_H
#define INTERPOSE_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

enum ip_limit { IP_LIMIT_CPU, IP_LIMIT_FSIZE, IP_LIMIT_DATA, IP_LIMIT_STACK, IP_LIMIT_NOFILE = 7, IP_LIMIT_AS = 9 };

/* All of these: -errno, if it fails. */
int ip_duplicate(int fd, int lowest, int is_inherited);
int ip_descriptor_flags(int fd);             /* of the file: O_ACCMODE and others */
int ip_place_in(int root, const char *path); /* O_PATH, with root in the place of "/"; no link leads out of it */
int ip_get_limit(int which, uint64_t *soft, uint64_t *hard);
int ip_set_limit(int which, uint64_t soft, uint64_t hard);
/* What descendants leave behind when they die becomes ours. */
int ip_adopt_orphans(void);
/* SIGTERM when the process that started this one is gone. */
int ip_end_with_parent(void);
/* Two connected ends; what arrives at the first one shows who sent it. */
int ip_socket_pair(int *ends);
/* Send all bytes, and with the first one descriptors, of which there may be 8. */
int ip_send_files(int sock, const void *data, uint64_t size, const int *fds, int count);
/* What tools that list processes call this one, in up to 15 bytes. */
int ip_name_process(const char *name);
/* A socket of the file system that others can connect to, and whoever has; neither waits. */
int ip_listen(const char *path);
int ip_accept(int fd);
/* What can be done with fd (poll(2): IP_CAN_READ, IP_HUNG_UP), after at most ms milliseconds; 0: nothing yet. */
int ip_poll(int fd, int ms);
/* Have the calling thread's ip_next_event return when a pipe or socket can be read or is hung up; it never waits from
 * now on (O_NONBLOCK). */
int ip_watch(int fd);
#define IP_CAN_READ 1
#define IP_HUNG_UP  16

/* The channel in a file; NULL: errno says why. */
struct ip_chan *ip_map_channel(int fd);
void ip_unmap_channel(struct ip_chan *mapped);

/* [start, end) */
struct ip_range {
    uint64_t start, end;
};
/* Where private memory without a file in [lo, hi), both multiples of a page, was ever touched: the rest is zero.
 * pagemap is the descriptor of the process's /proc/PID/pagemap (proc(5)); what it does not tell counts as touched.
 * Gaps of less than so many bytes are included, 1: none.  Writes at most max ranges, by address, and returns how many;
 * if that is max, resume at the last one's end. */
size_t ip_touched(int pagemap, uint64_t lo, uint64_t hi, uint64_t gap, struct ip_range *out, size_t max);

/* A file as it is, to be read; NULL: errno says why.  It stays mapped. */
const uint8_t *ip_map_file(int fd, uint64_t *size);

#endif
