/* Pages of 0xff: private maps of one small memory file.  Untouched they cost nothing, touched they are copied by the
 * kernel.
 *
 * Each piece as long as the file is a mapping for the kernel, which counts them (vm.max_map_count, 65,530 as a rule): a
 * file of 2 MiB would have used them up with 128 GiB of undefined blocks.  So when there are many mappings, whosever
 * they are, a file of twice the length takes its place.  What is mapped of the old one stays.
 */
#include "runtime/seam.h"
#include "shadow/shadow.h"

#define NR_read          0
#define NR_close         3
#define NR_fstat         5
#define NR_mmap          9
#define NR_munmap        11
#define NR_pwritev       296
#define NR_prlimit64     302
#define RLIMIT_FSIZE_    1
#define NR_fcntl         72
#define NR_openat        257
#define NR_dup3          292
#define O_CLOEXEC_       02000000
#define F_DUPFD_CLOEXEC_ 1030
#define PROT_RW          3
#define MAP_SHARED       0x01
#define MAP_PRIVATE      0x02
#define MAP_FIXED        0x10
#define MAP_NORESERVE    0x4000
#define AT_FDCWD_        (-100)
#define STAT_BYTES       144
#define STAT_SIZE        48 /* offset of st_size */

#define LENGTH  SH_PATTERNS_AT
#define LONGEST (256ull << 20)
/* The file doubles with each so many mappings: 2 TiB of undefined blocks fit in half of what the kernel allows. */
#define CROWD 4096u
#define PARTS 128 /* written at once */
/* Between two looks at how many there are. */
#define LOOK_EACH 2048u

/* Of the first file, which has patterns behind its ones (alike.c). */
#define FIRST_BYTES (SH_PATTERNS_AT + (SH_PATTERNS + 1) * SH_PATTERN_LEN)

static u64 length = LENGTH;
static u32 since_look;

static bool failed(long r) { return r < 0 && r >= -4095; }

/* At the beginning of the file.  Written they take a third of the time that stores to a mapping would, a fault for each
 * page, which is a thirtieth of a short run.  Returns how many were written: none where a limit on files is in the way,
 * for who goes beyond one is sent a signal. */
static u64 write_ones(long fd, u64 ones) {
    static u8 some[4 * RT_PAGE];
    struct {
        const u8 *base;
        u64 n;
    } parts[PARTS];
    u64 at = 0, limit[2];
    if (sys4(NR_prlimit64, 0, RLIMIT_FSIZE_, 0, (long)limit) || limit[0] < ones) return 0;
    memset(some, 0xff, sizeof some);
    for (u32 i = 0; i < PARTS; i++) parts[i].base = some, parts[i].n = sizeof some;
    while (at < ones) {
        u64 left = (ones - at) / sizeof some;
        long n = sys4(NR_pwritev, fd, (long)parts, (long)(left < PARTS ? left : PARTS), (long)at);
        if (n <= 0) break;
        at += (u64)n / RT_PAGE * RT_PAGE;
    }
    return at;
}

/* With so many bytes of ones; its number, or what went wrong. */
static long new_file(u64 bytes, u64 ones) {
    long fd = rt_memory_file("interpose-ones", bytes);
    if (failed(fd)) return fd;
    u64 written = write_ones(fd, ones), rest = ones - written;
    if (!rest) return fd;
    long p = sys6(NR_mmap, 0, (long)rest, PROT_RW, MAP_SHARED, fd, (long)written);
    if (failed(p)) {
        sys1(NR_close, fd);
        return p;
    }
    sh_fill((u64)p, 0xff, rest);
    sys2(NR_munmap, p, (long)rest);
    return fd;
}

void sh_ones_init(void) {
    long fd = new_file(FIRST_BYTES, LENGTH);
    if (failed(fd))
        rt_die("cannot create shadow memory: no memory file of %lu bytes (errno %ld)", (u64)FIRST_BYTES, -fd);
    /* Out of the way of the guest's descriptors. */
    long high = sys3(NR_fcntl, fd, F_DUPFD_CLOEXEC_, rt.runtime_fd + 8);
    if (!failed(high)) {
        sys1(NR_close, fd);
        fd = high;
    }
    rt.shadow_fd = (int)fd;
}

/* How many mappings there are; 0: nobody says. */
static u32 count_mappings(void) {
    char text[4096];
    u32 lines = 0;
    long fd = sys4(NR_openat, AT_FDCWD_, (long)"/proc/self/maps", O_CLOEXEC_, 0), n;
    if (failed(fd)) return 0;
    while ((n = sys3(NR_read, fd, (long)text, sizeof text)) > 0)
        for (long i = 0; i < n; i++) lines += text[i] == '\n';
    sys1(NR_close, fd);
    return lines;
}

static void look(void) {
    u32 doublings = 1;
    since_look = 0;
    for (u64 l = LENGTH; l < length; l *= 2) doublings++;
    if (length == LONGEST || count_mappings() < doublings * CROWD) return;
    long fd = new_file(2 * length, 2 * length);
    if (failed(fd)) return;
    sh_no_patterns();
    if (!failed(sys3(NR_dup3, fd, rt.shadow_fd, O_CLOEXEC_))) length *= 2;
    sys1(NR_close, fd);
}

/* Of a process that shares this memory and not the descriptors (vfork), the file may be another one. */
static u64 length_here(void) {
    u64 st[STAT_BYTES / 8];
    if (length == LENGTH) return length;
    if (failed(sys2(NR_fstat, rt.shadow_fd, (long)st)) || st[STAT_SIZE / 8] == FIRST_BYTES) return LENGTH;
    return st[STAT_SIZE / 8];
}

/* At places of the file by which pieces side by side become one mapping; the first most bytes of it are ones. */
static void map(u64 at, u64 len, u64 most) {
    for (u64 n; len; at += n, len -= n) {
        u64 place = at & (most - 1);
        n = len < most - place ? len : most - place;
        long r = rt_host_map_from(at, n, PROT_RW, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, rt.shadow_fd, place);
        if (failed(r))
            rt_die("cannot map %lu bytes of shadow memory (errno %ld): raise the address-space "
                   "limit or vm.max_map_count",
                   n, -r);
    }
}

void sh_map_some_ones(u64 at, u64 len) { map(at, len, LENGTH); }

void sh_map_ones(u64 at, u64 len) {
    for (u64 n; len; at += n, len -= n) {
        if (++since_look >= LOOK_EACH) look();
        u64 most = length_here(), rest = most - (at & (most - 1));
        n = len < rest ? len : rest;
        map(at, n, most);
    }
}
