/* What bpf's attributes and the information that it gives lead to: the kernel reads it, or writes as much as there is
 * room for.
 * @expect: Syscall param bpf(attr->license) points to uninitialised byte(s) at syscall
 * @expect: Syscall param bpf(attr->insns) points to uninitialised byte(s) at syscall
 * @expect: Syscall param bpf(attr->pathname) points to unaddressable byte(s) at syscall
 * @expect: Syscall param bpf(attr->test.data_in) points to uninitialised byte(s) at syscall
 * @expect: Syscall param bpf(attr->raw_tracepoint.name) points to uninitialised byte(s) at syscall
 * @expect: Syscall param bpf(attr->btf) points to unaddressable byte(s) at syscall
 * @expect: Syscall param bpf(attr->info.info) points to unaddressable byte(s) at syscall
 * @expect: Syscall param bpf(attr->map_fd) points to uninitialised byte(s) at syscall
 * @expect: Conditional jump or move depends on uninitialised value(s) at behind */
#define _GNU_SOURCE
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct bpf_insn code[] = {{0xb7, 0, 0, 0, 0}, {0x95, 0, 0, 0, 0}}; /* r0 = 0; exit */
static const union bpf_attr none;

static long bpf(int command, union bpf_attr *a) {
    long r = syscall(SYS_bpf, command, a, 120);
    *a = none;
    return r;
}

static long load(const void *insns, const char *license, int type) {
    union bpf_attr a = {.prog_type = type, .insn_cnt = 2, .insns = (__u64)insns, .license = (__u64)license};
    return bpf(BPF_PROG_LOAD, &a);
}

static long information(long fd, void *info, unsigned length) {
    union bpf_attr a = {.info = {.bpf_fd = fd, .info_len = length, .info = (__u64)info}};
    return bpf(BPF_OBJ_GET_INFO_BY_FD, &a);
}

/* Each byte decides something. */
static unsigned sum(const void *p, unsigned n) {
    unsigned s = 0;
    for (unsigned i = 0; i < n; i++)
        if (((const unsigned char *)p)[i] > 3) s++;
    return s;
}

__attribute__((noinline)) static void behind(const char *p) {
    if (*p == 3) puts("three");
}

static void wrong(long program, char *undefined) {
    union bpf_attr a = none;
    load(code, undefined, BPF_PROG_TYPE_SOCKET_FILTER);
    load(undefined, "GPL", BPF_PROG_TYPE_SOCKET_FILTER);
    a.pathname = 16;
    bpf(BPF_OBJ_GET, &a);
    a.test.prog_fd = program, a.test.data_in = (__u64)undefined, a.test.data_size_in = 20;
    bpf(BPF_PROG_TEST_RUN, &a);
    a.raw_tracepoint.name = (__u64)undefined, a.raw_tracepoint.prog_fd = program;
    bpf(BPF_RAW_TRACEPOINT_OPEN, &a);
    a.btf = 16, a.btf_size = 24;
    bpf(BPF_BTF_LOAD, &a);
    information(program, (void *)16, 80);
    syscall(SYS_bpf, BPF_MAP_FREEZE, undefined, 4);
}

static void of_program(long program) {
    struct bpf_prog_info have = {0}, info = {0};
    information(program, &have, sizeof have);
    void *insns = malloc(have.xlated_prog_len), *jited = malloc(have.jited_prog_len);
    void *symbols = malloc(8 * have.nr_jited_ksyms), *lengths = malloc(4 * have.nr_jited_func_lens);
    void *tags = malloc(8 * have.nr_prog_tags);
    info.xlated_prog_insns = (__u64)insns, info.xlated_prog_len = have.xlated_prog_len;
    info.jited_prog_insns = (__u64)jited, info.jited_prog_len = have.jited_prog_len;
    info.jited_ksyms = (__u64)symbols, info.nr_jited_ksyms = have.nr_jited_ksyms;
    info.jited_func_lens = (__u64)lengths, info.nr_jited_func_lens = have.nr_jited_func_lens;
    info.prog_tags = (__u64)tags, info.nr_prog_tags = have.nr_prog_tags;
    printf("program: %ld\n", information(program, &info, sizeof info));
    sum(insns, info.xlated_prog_len);
    sum(jited, info.jited_prog_len);
    sum(symbols, 8 * info.nr_jited_ksyms);
    sum(lengths, 4 * info.nr_jited_func_lens);
    sum(tags, 8 * info.nr_prog_tags);
    free(insns), free(jited), free(symbols), free(lengths), free(tags);
}

/* The kernel's own types, of which there is room for the first bytes. */
static void of_types(void) {
    union bpf_attr a = none;
    syscall(SYS_bpf, BPF_BTF_GET_NEXT_ID, &a, 8);
    a.btf_id = a.next_id, a.next_id = 0;
    long fd = bpf(BPF_BTF_GET_FD_BY_ID, &a);
    char *types = malloc(501), name[16];
    struct bpf_btf_info info = {.btf = (__u64)types, .btf_size = 500, .name = (__u64)name, .name_len = sizeof name};
    printf("types: %ld", information(fd, &info, sizeof info));
    printf(" %u\n", sum(name, info.name_len + 1));
    sum(types, 500);
    behind(types + 500);
    free(types);
    close(fd);
}

static void of_link(void) {
    union bpf_attr a = none;
    long program = load(code, "GPL", BPF_PROG_TYPE_RAW_TRACEPOINT);
    a.raw_tracepoint.name = (__u64) "sys_enter", a.raw_tracepoint.prog_fd = program;
    long fd = bpf(BPF_RAW_TRACEPOINT_OPEN, &a);
    char name[6];
    struct bpf_link_info info = {0};
    info.raw_tracepoint.tp_name = (__u64)name, info.raw_tracepoint.tp_name_len = sizeof name;
    printf("link: %ld", information(fd, &info, sizeof info)); /* it was cut */
    printf(" %s\n", name);
    close(fd);
    close(program);
}

int main(void) {
    long program = load(code, "GPL", BPF_PROG_TYPE_SOCKET_FILTER);
    if (program < 0 || access("/sys/kernel/btf/vmlinux", F_OK) != 0) return 77; /* not allowed, or not there */
    char *undefined = malloc(64);
    wrong(program, undefined);
    of_program(program);
    of_types();
    of_link();
    free(undefined);
    return 0;
}
