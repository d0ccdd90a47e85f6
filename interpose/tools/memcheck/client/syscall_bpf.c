/* bpf(2): what its attributes lead to. The attributes themselves are rows of arguments.def. */
#include <asm/unistd.h>
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "tools/memcheck/client/syscall_check.h"

#define MOST_ELEMENTS (1u << 20)

struct sizes {
    u64 key, value;
    u64 place; /* where a batch goes on: an index, or of tries a key */
};

/* The numbers of the CPUs that there may be begin with 0, and the file says "0-7" or "0". */
static u64 possible_cpus(void) {
    static u32 known;
    char text[64];
    u32 cpus = __atomic_load_n(&known, __ATOMIC_ACQUIRE), last = 0;
    if (cpus) return cpus;
    long fd = sys4(__NR_openat, AT_FDCWD, (long)"/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC, 0);
    long n = fd < 0 ? 0 : sys3(__NR_read, fd, (long)text, sizeof text);
    if (fd >= 0) sys1(__NR_close, fd);
    for (long i = 0; i < n && text[i] >= '-'; i++) last = text[i] < '0' ? 0 : last * 10 + (u32)(text[i] - '0');
    __atomic_store_n(&known, last + 1, __ATOMIC_RELEASE);
    return last + 1;
}

/* Of a map's elements; zeros where the kernel does not tell. */
static struct sizes sizes_of(u32 map) {
    struct bpf_map_info info;
    union bpf_attr ask;
    memset(&info, 0, sizeof info);
    memset(&ask, 0, sizeof ask);
    ask.info.bpf_fd = map, ask.info.info_len = sizeof info, ask.info.info = (u64)&info;
    if (sys3(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, (long)&ask, sizeof ask) < 0) return (struct sizes){0, 0, 0};
    switch (info.type) {
    case BPF_MAP_TYPE_PERCPU_HASH:
    case BPF_MAP_TYPE_PERCPU_ARRAY:
    case BPF_MAP_TYPE_LRU_PERCPU_HASH:
    case BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE: /* a value for each CPU */
        return (struct sizes){info.key_size, RT_ROUND_UP((u64)info.value_size, 8) * possible_cpus(), 4};
    default:
        return (struct sizes){info.key_size, info.value_size, info.type == BPF_MAP_TYPE_LPM_TRIE ? info.key_size : 4};
    }
}

/* The attributes as far as the program says that there are any. */
static bool fetched(const struct call *c, union bpf_attr *a) {
    u64 n = (u32)c->args[2];
    memset(a, 0, sizeof *a);
    return rt_copy_from(a, c->args[1], n < sizeof *a ? n : sizeof *a) == 0;
}

void call_bpf_in(struct call *c) {
    union bpf_attr a;
    struct sizes is;
    u64 n;
    if (!fetched(c, &a)) return;
    switch ((u32)c->args[0]) {
    case BPF_MAP_LOOKUP_ELEM:
    case BPF_MAP_LOOKUP_AND_DELETE_ELEM:
        is = sizes_of(a.map_fd);
        call_reads(c, a.key, is.key, "bpf(attr->key)", "");
        call_writes(c, a.value, is.value, "bpf(attr->value)", "");
        break;
    case BPF_MAP_UPDATE_ELEM:
        is = sizes_of(a.map_fd);
        call_reads(c, a.key, is.key, "bpf(attr->key)", "");
        call_reads(c, a.value, is.value, "bpf(attr->value)", "");
        break;
    case BPF_MAP_DELETE_ELEM: call_reads(c, a.key, sizes_of(a.map_fd).key, "bpf(attr->key)", ""); break;
    case BPF_MAP_GET_NEXT_KEY:
        is = sizes_of(a.map_fd);
        if (a.key) call_reads(c, a.key, is.key, "bpf(attr->key)", "");
        call_writes(c, a.next_key, is.key, "bpf(attr->next_key)", "");
        break;
    case BPF_MAP_LOOKUP_BATCH:
    case BPF_MAP_LOOKUP_AND_DELETE_BATCH:
        is = sizes_of(a.batch.map_fd);
        n = a.batch.count < MOST_ELEMENTS ? a.batch.count : 0;
        call_writes(c, a.batch.keys, n * is.key, "bpf(attr->batch.keys)", "");
        call_writes(c, a.batch.values, n * is.value, "bpf(attr->batch.values)", "");
        break;
    case BPF_MAP_UPDATE_BATCH:
    case BPF_MAP_DELETE_BATCH:
        is = sizes_of(a.batch.map_fd);
        n = a.batch.count < MOST_ELEMENTS ? a.batch.count : 0;
        call_reads(c, a.batch.keys, n * is.key, "bpf(attr->batch.keys)", "");
        if ((u32)c->args[0] == BPF_MAP_UPDATE_BATCH)
            call_reads(c, a.batch.values, n * is.value, "bpf(attr->batch.values)", "");
        break;
    default: break;
    }
}

/* What the verifier has to say. */
static void log_defined(struct call *c, u64 at, u64 room) {
    char byte = 1;
    for (u64 i = 0; at && i < room && byte; i++) {
        if (rt_copy_from(&byte, at + i, 1) < 0) return;
        call_defines(c->ts, at + i, 1);
    }
}

void call_bpf_out(struct call *c, long result) {
    union bpf_attr a;
    struct sizes is;
    bool failed = result < 0;
    u32 command = (u32)c->args[0];
    if (!fetched(c, &a)) return;
    switch (command) {
    case BPF_MAP_LOOKUP_ELEM:
    case BPF_MAP_LOOKUP_AND_DELETE_ELEM:
        if (!failed) call_defines(c->ts, a.value, sizes_of(a.map_fd).value);
        break;
    case BPF_MAP_GET_NEXT_KEY:
        if (!failed) call_defines(c->ts, a.next_key, sizes_of(a.map_fd).key);
        break;
    case BPF_MAP_LOOKUP_BATCH:
    case BPF_MAP_LOOKUP_AND_DELETE_BATCH:
        if (failed && result != -ENOENT) break; /* that is the end, and there may be some before it */
        is = sizes_of(a.batch.map_fd);
        call_defines(c->ts, a.batch.keys, a.batch.count * is.key);
        call_defines(c->ts, a.batch.values, a.batch.count * is.value);
        call_defines(c->ts, a.batch.out_batch, is.place);
        break;
    case BPF_PROG_LOAD:
        if (a.log_level) log_defined(c, a.log_buf, a.log_size);
        break;
    case BPF_BTF_LOAD:
        if (a.btf_log_level) log_defined(c, a.btf_log_buf, a.btf_log_size);
        break;
    case BPF_PROG_TEST_RUN:
        if (!failed || result == -ENOSPC) call_defines(c->ts, a.test.data_out, a.test.data_size_out);
        break;
    case BPF_OBJ_GET_INFO_BY_FD:
        if (!failed) call_defines(c->ts, a.info.info, a.info.info_len);
        break;
    case BPF_PROG_QUERY:
        if (!failed || result == -ENOSPC) call_defines(c->ts, a.query.prog_ids, 4 * (u64)a.query.prog_cnt);
        break;
    default: break;
    }
}
