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

/* An object's information, as the kernel tells it to us. */
static bool informed(u32 fd, void *info, u32 size) {
    union bpf_attr ask;
    memset(info, 0, size);
    memset(&ask, 0, sizeof ask);
    ask.info.bpf_fd = fd, ask.info.info_len = size, ask.info.info = (u64)info;
    return sys3(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, (long)&ask, sizeof ask) == 0;
}

/* Of a map's elements; zeros where the kernel does not tell. */
static struct sizes sizes_of(u32 map) {
    struct bpf_map_info info;
    if (!informed(map, &info, sizeof info)) return (struct sizes){0, 0, 0};
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

/* What the kernel writes besides an object's information: as many elements of some bytes as it has, at an address in
 * the information, and no more than the count said that there is room for. */
struct pointed {
    u16 address, count; /* where they are in the information */
    u16 size;           /* of an element; 0: it stands in the information, at record */
    u16 record, ends;   /* ends: a NUL follows that does not count */
};
struct kind {
    const struct pointed *pointed;
    u32 n;
};

#define IN_PROG(address, count, size)                                                                                  \
    {offsetof(struct bpf_prog_info, address), offsetof(struct bpf_prog_info, count), size, 0, 0}
#define IN_PROG_BY(address, count, record)                                                                             \
    {offsetof(struct bpf_prog_info, address), offsetof(struct bpf_prog_info, count), 0,                                \
     offsetof(struct bpf_prog_info, record), 0}
static const struct pointed in_prog[] = {
    IN_PROG(jited_prog_insns, jited_prog_len, 1),
    IN_PROG(xlated_prog_insns, xlated_prog_len, 1),
    IN_PROG(map_ids, nr_map_ids, 4),
    IN_PROG(jited_ksyms, nr_jited_ksyms, 8),
    IN_PROG(jited_func_lens, nr_jited_func_lens, 4),
    IN_PROG_BY(func_info, nr_func_info, func_info_rec_size),
    IN_PROG_BY(line_info, nr_line_info, line_info_rec_size),
    IN_PROG_BY(jited_line_info, nr_jited_line_info, jited_line_info_rec_size),
    IN_PROG(prog_tags, nr_prog_tags, BPF_TAG_SIZE),
};
static const struct pointed in_btf[] = {
    {offsetof(struct bpf_btf_info, btf), offsetof(struct bpf_btf_info, btf_size), 1, 0, 0},
    {offsetof(struct bpf_btf_info, name), offsetof(struct bpf_btf_info, name_len), 1, 0, 1},
};
/* By number: the headers may be older than the last of them (Linux 6.6). */
static const struct pointed in_link_name[] = {{16, 24, 1, 0, 0}};
static const struct pointed in_link_event[] = {{24, 32, 1, 0, 0}};
static const struct pointed in_link_kprobes[] = {{16, 24, 8, 0, 0}, {40, 24, 8, 0, 0}};
static const struct pointed in_link_uprobes[] = {
    {16, 48, 1, 0, 0}, {24, 52, 8, 0, 0}, {32, 52, 8, 0, 0}, {40, 52, 8, 0, 0}};
static const struct {
    u32 type;
    struct kind is;
} links[] = {
#define LINK(type, pointed)                                                                                            \
    {                                                                                                                  \
        type, { pointed, sizeof pointed / sizeof *pointed }                                                            \
    }
    LINK(BPF_LINK_TYPE_RAW_TRACEPOINT, in_link_name),
    LINK(BPF_LINK_TYPE_ITER, in_link_name),
    LINK(7 /* BPF_LINK_TYPE_PERF_EVENT */, in_link_event),
    LINK(8 /* BPF_LINK_TYPE_KPROBE_MULTI */, in_link_kprobes),
    LINK(12 /* BPF_LINK_TYPE_UPROBE_MULTI */, in_link_uprobes),
};
_Static_assert(sizeof in_prog / sizeof *in_prog == sizeof((struct rt_thread *)0)->rooms / sizeof(u32),
               "a room for each");

/* Room for the largest information that points. */
union information {
    u32 words[sizeof(struct bpf_prog_info) / sizeof(u32)];
    u64 longs[sizeof(struct bpf_prog_info) / sizeof(u64)];
};

static struct kind kind_of_link(u32 fd) {
    struct bpf_link_info info;
    bool known = informed(fd, &info, sizeof info);
    for (u32 i = 0; known && i < sizeof links / sizeof *links; i++)
        if (links[i].type == info.type) return links[i].is;
    return (struct kind){NULL, 0};
}

/* The kernel names what a descriptor is of. */
static struct kind kind_of(u32 fd) {
    char path[64], name[32];
    rt_snprintf(path, sizeof path, "/proc/thread-self/fd/%u", fd);
    long n = sys3(__NR_readlink, (long)path, (long)name, sizeof name - 1);
    name[n < 0 ? 0 : n] = 0;
    if (rt_strcmp(name, "anon_inode:bpf-prog") == 0) return (struct kind){in_prog, sizeof in_prog / sizeof *in_prog};
    if (rt_strcmp(name, "anon_inode:btf") == 0) return (struct kind){in_btf, sizeof in_btf / sizeof *in_btf};
    return rt_strcmp(name, "anon_inode:bpf_link") == 0 ? kind_of_link(fd) : (struct kind){NULL, 0};
}

/* What an object's information points to, and the information itself, as far as the program has room for it. */
static struct kind fetch_information(const union bpf_attr *a, union information *info) {
    u32 n = a->info.info_len;
    memset(info, 0, sizeof *info);
    rt_copy_from(info, a->info.info, n < sizeof *info ? n : sizeof *info);
    return kind_of(a->info.bpf_fd);
}

/* How much room there is, before the kernel says how much there would be. */
static void information_in(struct call *c, const union bpf_attr *a) {
    union information info;
    struct kind is = fetch_information(a, &info);
    u32 *room = rt_th(c->ts)->rooms;
    for (const struct pointed *p = is.pointed; p < is.pointed + is.n; p++)
        *room++ = info.longs[p->address / 8] ? info.words[p->count / 4] : 0;
}

static void information_out(struct call *c, const union bpf_attr *a) {
    union information info;
    struct kind is = fetch_information(a, &info);
    const u32 *room = rt_th(c->ts)->rooms;
    for (const struct pointed *p = is.pointed; p < is.pointed + is.n; p++, room++) {
        u64 n = (u64)info.words[p->count / 4] + p->ends, size = p->size ? p->size : info.words[p->record / 4];
        if (*room) call_defines(c->ts, info.longs[p->address / 8], (n < *room ? n : *room) * size);
    }
}

/* The attributes as far as the program says that there are any. */
static bool fetched(const struct call *c, union bpf_attr *a) {
    u64 n = (u32)c->args[2];
    memset(a, 0, sizeof *a);
    return rt_copy_from(a, c->args[1], n < sizeof *a ? n : sizeof *a) == 0;
}

/* Of a program without instructions nothing is looked at. */
static void program_in(struct call *c, const union bpf_attr *a) {
    u64 n = a->insn_cnt < MOST_ELEMENTS ? a->insn_cnt : 0;
    if (!a->insn_cnt) return;
    call_reads(c, a->insns, n * sizeof(struct bpf_insn), "bpf(attr->insns)", "");
    call_reads_string(c, a->license, "bpf(attr->license)", "");
    if (a->log_buf) call_writes(c, a->log_buf, a->log_size, "bpf(attr->log_buf)", "");
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
    case BPF_PROG_LOAD: program_in(c, &a); break;
    case BPF_OBJ_PIN:
    case BPF_OBJ_GET: call_reads_string(c, a.pathname, "bpf(attr->pathname)", ""); break;
    case BPF_PROG_TEST_RUN:
        call_reads(c, a.test.data_in, a.test.data_size_in, "bpf(attr->test.data_in)", "");
        if (a.test.data_out) call_writes(c, a.test.data_out, a.test.data_size_out, "bpf(attr->test.data_out)", "");
        call_reads(c, a.test.ctx_in, a.test.ctx_size_in, "bpf(attr->test.ctx_in)", "");
        if (a.test.ctx_out) call_writes(c, a.test.ctx_out, a.test.ctx_size_out, "bpf(attr->test.ctx_out)", "");
        break;
    case BPF_OBJ_GET_INFO_BY_FD:
        call_writes(c, a.info.info, a.info.info_len, "bpf(attr->info.info)", "");
        information_in(c, &a);
        break;
    case BPF_PROG_QUERY:
        n = a.query.prog_cnt < MOST_ELEMENTS ? a.query.prog_cnt : 0;
        if (a.query.prog_ids) call_writes(c, a.query.prog_ids, 4 * n, "bpf(attr->query.prog_ids)", "");
        break;
    case BPF_RAW_TRACEPOINT_OPEN: /* a program for a traced function of the kernel's has no name */
        if (a.raw_tracepoint.name) call_reads_string(c, a.raw_tracepoint.name, "bpf(attr->raw_tracepoint.name)", "");
        break;
    case BPF_BTF_LOAD:
        call_reads(c, a.btf, a.btf_size, "bpf(attr->btf)", "");
        if (a.btf_log_buf) call_writes(c, a.btf_log_buf, a.btf_log_size, "bpf(attr->btf_log_buf)", "");
        break;
    case BPF_TASK_FD_QUERY:
        n = a.task_fd_query.buf ? a.task_fd_query.buf_len : 0;
        call_writes(c, a.task_fd_query.buf, n, "bpf(attr->task_fd_query.buf)", "");
        rt_th(c->ts)->rooms[0] = (u32)n;
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
    u64 n;
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
        if (failed && result != -ENOSPC) break;
        call_defines(c->ts, a.test.data_out, a.test.data_size_out);
        call_defines(c->ts, a.test.ctx_out, a.test.ctx_size_out);
        break;
    case BPF_OBJ_GET_INFO_BY_FD:
        if (!failed) call_defines(c->ts, a.info.info, a.info.info_len);
        if (!failed || result == -ENOSPC) information_out(c, &a); /* a name that was cut */
        break;
    case BPF_TASK_FD_QUERY:
        if (failed && result != -ENOSPC) break;
        n = (u64)a.task_fd_query.buf_len + 1; /* of a name and its NUL, which does not count */
        call_defines(c->ts, a.task_fd_query.buf, n < rt_th(c->ts)->rooms[0] ? n : rt_th(c->ts)->rooms[0]);
        break;
    case BPF_PROG_QUERY:
        if (!failed || result == -ENOSPC) call_defines(c->ts, a.query.prog_ids, 4 * (u64)a.query.prog_cnt);
        break;
    default: break;
    }
}
