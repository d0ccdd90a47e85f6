/* Calls whose arguments depend on one another: sets of nodes, filters, rules, registered buffers, lists of modules.
 * @expect: Syscall param mbind(nodemask) points to uninitialised byte(s)
 * @expect: Syscall param migrate_pages(old_nodes) points to uninitialised byte(s)
 * @expect: Syscall param migrate_pages(new_nodes) points to uninitialised byte(s)
 * @expect: Syscall param seccomp(uargs.filter) points to uninitialised byte(s)
 * @expect: Syscall param landlock_add_rule(rule_attr) points to uninitialised byte(s)
 * @expect: Syscall param landlock_add_rule(rule_attr) points to unaddressable byte(s)
 * @expect: Syscall param fsconfig(value) points to uninitialised byte(s)
 * @expect: Syscall param io_uring_register(arg) points to uninitialised byte(s)
 * @expect: Syscall param lsm_list_modules(ids) points to unaddressable byte(s)
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define LSM_LIST_MODULES 461

static unsigned long ids[8];

int main(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* The last node that can be named is one less than the number says, as libnuma has it. */
    syscall(SYS_mbind, page, 4096, 1, malloc(8), 65, 0);
    syscall(SYS_migrate_pages, 0x7fffffff, 65, malloc(8), malloc(8));
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL); /* asks what there is, as libseccomp does: no error */
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL);
    struct sock_fprog filter = {1, malloc(sizeof *filter.filter)};
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0xff000000, &filter);
    struct {
        unsigned long access;
        int parent;
    } __attribute__((packed)) *rule = malloc(sizeof *rule);
    rule->access = 1;
    syscall(SYS_landlock_add_rule, -1, 1, rule, 0);
    rule->parent = 3;
    syscall(SYS_landlock_add_rule, -1, 1, rule, 0);
    syscall(SYS_landlock_add_rule, -1, 2, rule, 0); /* that of a port is larger */
    syscall(SYS_fsconfig, -1, 1, "key", malloc(3), 0);
    struct iovec *buffers = malloc(2 * sizeof *buffers);
    buffers[0] = (struct iovec){page, 4096};
    syscall(SYS_io_uring_register, -1, 0, buffers, 1);
    syscall(SYS_io_uring_register, -1, 0, buffers, 2);

    unsigned *size = malloc(sizeof *size);
    *size = sizeof ids;
    unsigned long *got = malloc(*size);
    long n = syscall(LSM_LIST_MODULES, got, size, 0);
    for (long i = 0; i < n; i++) ids[got[i] % 8]++; /* defined */
    *size = 2 * sizeof ids;
    syscall(LSM_LIST_MODULES, got, size, 1);
    return 0;
}
