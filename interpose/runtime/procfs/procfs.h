/* Files of /proc/self that tell a process about itself and would tell about us.
 *
 * The program keeps the kernel's own descriptor (so stat, lseek, poll and mmap
 * answer as they do); what it reads from it is ours:
 *   procfs.c       which file a descriptor or a path is; exe
 *   procfs_read.c  reading through marked descriptors
 *   procfs_text.c  maps, smaps, numa_maps, smaps_rollup
 *   procfs_query.c questions about single mappings
 *   procfs_pages.c what the program's pages use
 *   procfs_stat.c  status, stat, statm, limits
 */
#ifndef INTERPOSE_PROCFS_H
#define INTERPOSE_PROCFS_H

#include "runtime/seam.h"
#include "runtime/base/rt.h"

enum proc_leaf {
    PROC_OTHER,
    PROC_EXE,
    PROC_FD,
    PROC_FDINFO,
    PROC_MAP_FILES,
    PROC_MAPS,
    PROC_SMAPS,
    PROC_SMAPS_ROLLUP,
    PROC_NUMA_MAPS,
    PROC_STATUS,
    PROC_STAT,
    PROC_STATM,
    PROC_LIMITS,
    PROC_AUXV,
    PROC_CMDLINE,
    PROC_ENVIRON
};

struct proc_file {
    enum proc_leaf leaf;
    u32 tid; /* under task/: the thread, else 0 */
};
/* What an open descriptor is; PROC_OTHER if it is no such file of this process. */
struct proc_file proc_identify(int fd);
/* Is its text ours?  (cmdline and the like are, unless the kernel took our word.) */
bool proc_is_text(enum proc_leaf leaf);
/* A system call has opened a descriptor. */
void proc_opened(int fd);

struct proc_text {
    char *at;
    u64 len, room;
};
/* The text of a file as a native run has it, given the kernel's descriptor of it. */
bool proc_text(struct tstate *ts, struct proc_file file, int fd, struct proc_text *out);
void proc_text_free(struct proc_text *t);

#define PROCMAP_QUERY_ 0xc0686611u /* linux/fs.h, since Linux 6.11 */
/* The same for a descriptor of maps: a result of ioctl. */
long proc_maps_query(int fd, u64 at);

/* ---- between the makers of texts --------------------------------------------------------- */

void proc_reserve(struct proc_text *t, u64 bytes);
/* The kernel's text of a descriptor, from its beginning, its position untouched. */
bool proc_read_kernel(int fd, struct proc_text *t, u64 room);
const char *proc_next_line(const char *p);

/* What the program's own mappings use, in kB (proc_pid_smaps(5)). */
struct proc_usage {
    u64 rss, anon, file, shmem;
};
bool proc_usage(struct proc_usage *u);
bool proc_usage_by_text(struct proc_usage *u); /* the same, by the kernel's text of all mappings, ours included */
/* Size of its mappings in bytes. */
struct proc_sizes {
    u64 all, data, stack, code, lib;
};
void proc_sizes(struct proc_sizes *s);

bool proc_smaps_text(int fd, struct proc_text *t);
bool proc_rollup_text(int fd, struct proc_text *t);
bool proc_numa_text(int fd, struct proc_text *t);
/* What maps calls a mapping, "" if nothing; is there a file behind it, as the kernel sees it? */
const char *proc_mapping_name(const struct rt_seg *s);
bool proc_mapping_has_file(const struct rt_seg *s);
/* Memory that processes share, by a segment of System V or without a name: a file of the kernel's own. */
bool proc_mapping_is_shmem(const struct rt_seg *s);
static inline u32 proc_major(u64 dev) { return dev >> 8 & 0xfff; }
static inline u32 proc_minor(u64 dev) { return (dev & 0xff) | (dev >> 12 & 0xfff00); }
bool proc_maps_text(int fd, struct proc_text *t);
bool proc_status_text(struct tstate *ts, u32 tid, int fd, struct proc_text *t);
bool proc_stat_text(int fd, struct proc_text *t);
bool proc_statm_text(int fd, struct proc_text *t);
bool proc_limits_text(int fd, struct proc_text *t);

#endif
