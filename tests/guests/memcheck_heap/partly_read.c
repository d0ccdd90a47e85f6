/* Structures of which the kernel reads a part: what it does not read may be undefined ("unread"), what it reads may
 * not ("read": each member of those below is undefined once). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "valgrind/memcheck.h"

static unsigned char *b;
static int unread;

/* Of an area that is undefined otherwise, these bytes are set. */
static void set(unsigned at, const void *from, unsigned n) {
    memcpy(b + at, from, n);
    if (!unread) VALGRIND_MAKE_MEM_UNDEFINED(b + at, n);
}
#define SET(type, at, value) set(at, &(type){value}, sizeof(type))

static void fresh(void) { VALGRIND_MAKE_MEM_UNDEFINED(b, 4096); }

int main(int argc, char **argv) {
    int udp = socket(AF_INET, SOCK_DGRAM, 0), file = memfd_create("x", 0), pipes[2];
    unread = !strcmp(argv[1], "unread");
    b = malloc(4096);

    fresh();
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, 0xffff)};
    set(512, all, sizeof all);
    SET(unsigned short, 0, 1);
    *(void **)(b + 8) = b + 512;
    setsockopt(udp, SOL_SOCKET, SO_ATTACH_FILTER, b, 16);

    fresh();
    set(0, "lo", 3);
    setsockopt(udp, SOL_SOCKET, SO_BINDTODEVICE, b, 40);

    fresh();
    SET(int, 0, 1);
    *(unsigned short *)(b + 8) = AF_INET;
    SET(int, 12, htonl(0xe0000001));
    setsockopt(udp, IPPROTO_IP, MCAST_JOIN_GROUP, b, sizeof(struct group_req));

    fresh();
    SET(int, 0, 1);
    SET(short, 4, PACKET_MR_PROMISC);
    *(short *)(b + 6) = 0;
    setsockopt(udp, SOL_PACKET, PACKET_ADD_MEMBERSHIP, b, 16);

    fresh();
    SET(int, 0, 0);
    ioctl(file, 0x40086602, b); /* FS_IOC_SETFLAGS: an int, whatever its number says */

    fresh();
    SET(uint64_t, 0, 0xaa);
    SET(uint64_t, 8, 0);
    ioctl(1000, 0xc018aa3f, b); /* UFFDIO_API */

    fresh();
    SET(int, 0, 1);
    SET(uint64_t, 4, 2);
    syscall(SYS_kcmp, getpid(), getpid(), 7, udp, b); /* KCMP_EPOLL_TFD */

    fresh();
    pipe(pipes);
    write(pipes[1], "text", 4);
    struct iovec v = {b, 4};
    vmsplice(pipes[0], &v, 1, 0);
    fresh();
    set(0, "text", 4);
    vmsplice(pipes[1], &v, 1, 0);

    fresh();
    union bpf_attr a = {.map_type = BPF_MAP_TYPE_HASH, .key_size = 4, .value_size = 8, .max_entries = 4};
    int map = syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof a);
    a = (union bpf_attr){.map_fd = map, .key = (uint64_t)b, .value = (uint64_t)b + 64};
    if (map < 0) return 1;
    SET(int, 0, 7);
    SET(long, 64, 9);
    syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &a, sizeof a);
    return 0;
}
