/* syscalls: guest system calls through rt_syscall, each checked.  Handlers of
 * other parts (signals, threads, processes) are not linked in: those pass. */
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "runtime/memory/memory.h"
#include "runtime/signals/sig.h"
#include "runtime/syscalls/syscalls.h"
#include "harness.h"
#include "runtime/loader/image.h"
#include "runtime/syscalls/syscall.h"

void harness_main(u64 *sp);
/* Of sigaction.c: no debugger has been there. */
bool sig_are_told(void) { return false; }
static struct tstate ts __attribute__((aligned(64)));
static u32 lines;

extern char rt_kernel_abort[];

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        lines++;                                                                                                       \
        if (!(what)) fail("line %d: %s", __LINE__, #what);                                                             \
    } while (0)

static long call(long nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) {
    ts.gpr[IP_RAX] = (u64)nr;
    ts.gpr[IP_RDI] = a, ts.gpr[IP_RSI] = b, ts.gpr[IP_RDX] = c;
    ts.gpr[IP_R10] = d, ts.gpr[IP_R8] = e, ts.gpr[IP_R9] = f;
    ts.pc = 0x1000;
    rt_syscall(&ts, 0x1002);
    return (long)ts.gpr[IP_RAX];
}
#define CALL(nr, ...)                    CALL_(nr, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define CALL_(nr, a, b, c, d, e, f, ...) call(nr, (u64)(a), (u64)(b), (u64)(c), (u64)(d), (u64)(e), (u64)(f))

static void registers(void) {
    ts.rflags = 0x246;
    long pid = CALL(__NR_getpid, 0);
    CHECK(pid == sys0(__NR_getpid));
    CHECK(ts.pc == 0x1002 && ts.gpr[IP_RCX] == 0x1002 && ts.gpr[IP_R11] == 0x246);
    CHECK(CALL(0x40000000 | __NR_getpid, 0) == -ENOSYS); /* x32 */
    CHECK(CALL(__NR_rseq, 0) == -ENOSYS);
    CHECK(CALL(100000, 0) == -ENOSYS);
    CHECK(CALL((1ul << 32) + __NR_getpid, 0) == pid); /* upper half ignored */
}

static void interrupted(void) {
    rt_th(&ts)->pending = 1;
    ts.gpr[IP_RCX] = 77;
    CHECK(CALL(__NR_getppid, 5) == __NR_getppid); /* rax untouched: executes again */
    CHECK(ts.pc == 0x1000 && ts.gpr[IP_RCX] == 77 && ts.gpr[IP_RDI] == 5);
    rt_th(&ts)->pending = 0;
    CHECK(CALL(__NR_getppid, 5) == sys0(__NR_getppid));
    CHECK((u64)rt_kernel_begin < (u64)rt_kernel_insn && rt_kernel_insn + 2 == &rt_kernel_end[0]);
    CHECK((u64)rt_kernel_abort >= (u64)rt_kernel_end);
}

static bool is_open(int fd) { return sys3(__NR_fcntl, fd, F_GETFD, 0) >= 0; }

static void descriptors(void) {
    rt.runtime_fd = (int)sys3(__NR_fcntl, 2, F_DUPFD, 200);
    rt.sock_fd = (int)sys3(__NR_fcntl, 2, F_DUPFD_CLOEXEC, 204);
    CHECK(rt.runtime_fd == 200 && rt.sock_fd == 204);
    CHECK(CALL(__NR_close, 204) == -EBADF && is_open(204));
    CHECK(CALL(__NR_fcntl, 204, F_GETFD) == -EBADF);
    CHECK(CALL(__NR_dup, 200) == -EBADF);
    CHECK(CALL(__NR_dup2, 204, 50) == -EBADF);
    CHECK(CALL(__NR_dup3, 1, 204, 0) == 204); /* ours moved away */
    CHECK(rt.sock_fd > 204 && is_open(rt.sock_fd));
    CHECK(sys2(__NR_fcntl, rt.sock_fd, F_GETFD) == FD_CLOEXEC);
    CHECK(CALL(__NR_close, 204) == 0 && !is_open(204));
    CHECK(CALL(__NR_dup2, 1, 199) == 199 && CALL(__NR_dup2, 1, 201) == 201 && CALL(__NR_dup2, 1, 300) == 300);
    CHECK(CALL(__NR_close_range, 190, 0xffffffff, 0) == 0);
    CHECK(!is_open(199) && !is_open(201) && !is_open(300));
    CHECK(is_open(rt.runtime_fd) && is_open(rt.sock_fd));
    CHECK(CALL(__NR_close_range, 200, 200, 0) == 0 && is_open(200));
    CHECK(CALL(__NR_close_range, 5, 4, 0) == -EINVAL);
    CHECK(CALL(__NR_close_range, 200, 200, 1) == -EINVAL);
}

static void own_executable(void) {
    char buf[64] = {0}, by_pid[40];
    u8 st[144], program[144];
    rt_snprintf(rt.exe_path, sizeof rt.exe_path, "/bin/sh");
    rt_learn_own_exe();
    int runtime_fd = rt.runtime_fd; /* "our executable" is this program here */
    rt.runtime_fd = (int)sys4(__NR_openat, AT_FDCWD, (long)"/proc/self/exe", O_RDONLY, 0);
    rt_snprintf(by_pid, sizeof by_pid, "/proc/%ld/exe", sys0(__NR_getpid));
    CHECK(CALL(__NR_readlink, "/proc/self/exe", buf, 64) == 7 && memcmp(buf, "/bin/sh", 8) == 0);
    CHECK(CALL(__NR_readlink, by_pid, buf, 4) == 4);
    CHECK(CALL(__NR_readlinkat, AT_FDCWD, "/proc/thread-self/exe", buf, 64) == 7);
    CHECK(CALL(__NR_readlink, "/proc/self/exe", buf, 0) == -EINVAL);
    CHECK(CALL(__NR_readlink, "/proc/1/exe", buf, 64) != 7);
    CHECK(CALL(__NR_stat, "/proc/self/exe", st) == 0 && sys2(__NR_stat, (long)"/bin/sh", (long)program) == 0);
    CHECK(memcmp(st, program, 16) == 0); /* device and inode */
    long fd = CALL(__NR_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY, 0);
    CHECK(fd >= 0 && sys2(__NR_fstat, fd, (long)st) == 0 && memcmp(st, program, 16) == 0);
    CHECK(CALL(__NR_open, "/proc/self/exe", O_RDONLY | O_NOFOLLOW) == -ELOOP);
    CHECK(rt_names_own_exe(AT_FDCWD, (u64)by_pid) && !rt_names_own_exe(AT_FDCWD, (u64) "/proc/self/exec"));
    CHECK(!rt_names_own_exe(AT_FDCWD, (u64) "/proc/exe"));
    sys1(__NR_close, rt.runtime_fd);
    rt.runtime_fd = runtime_fd;
}

static void own_mappings(void) {
    static char text[8192];
    u64 at = (u64)CALL(__NR_mmap, 0, RT_PAGE, 5, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at >= IP_IMAGES_LO && at < IP_IMAGES_HI);
    long fd = CALL(__NR_open, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && sys2(__NR_fcntl, fd, F_GETFD) == FD_CLOEXEC);
    long n = CALL(__NR_read, fd, text, sizeof text - 1);
    CHECK(n > 0 && text[n - 1] == '\n');
    char want[80];
    rt_snprintf(want, sizeof want, "%08lx-%08lx r-xp 00000000 00:00 0 \n", at, (u64)(at + RT_PAGE));
    CHECK(rt_strncmp(text, want, rt_strlen(want)) == 0); /* guest protection; nothing lies lower */
    for (char *p = text; *p; p++) CHECK(rt_strncmp(p, "\n70000000-", 10) != 0); /* not the runtime */
    rt_auxv_words = 4;
    fd = CALL(__NR_open, "/proc/self/auxv", O_RDONLY);
    CHECK(fd >= 0 && CALL(__NR_read, fd, text, sizeof text) == 32);
}

static void kernel_writes_to_code_pages(void) {
    u64 at = (u64)CALL(__NR_mmap, 0, 2 * RT_PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int ends[2];
    CHECK(CALL(__NR_pipe, ends) == 0);
    rt_protect_code_page(&ts, at);
    u64 before = invalidations;
    CHECK(CALL(__NR_write, ends[1], "word", 4) == 4);
    CHECK(CALL(__NR_read, ends[0], at + 8, 4) == 4 && memcmp((void *)(at + 8), "word", 4) == 0);
    CHECK(invalidations == before + 1 && !rt_have_code_pages());
    /* From a file: what went into the first buffer would make the call a success. */
    long file = CALL(__NR_memfd_create, "words", 0);
    CHECK(CALL(__NR_write, file, "abcd", 4) == 4);
    u64 vec[4] = {at, 2, at + RT_PAGE, 2};
    rt_protect_code_page(&ts, at + RT_PAGE);
    CHECK(CALL(__NR_preadv, file, vec, 2, 0, 0) == 4 && memcmp((void *)(at + RT_PAGE), "cd", 2) == 0);
}

static void shared_memory(void) {
    long id = CALL(__NR_shmget, 0, 3 * RT_PAGE, 01600);
    CHECK(id >= 0);
    u64 at = (u64)CALL(__NR_shmat, id, 0, 0), again = (u64)CALL(__NR_shmat, id, 0, 010000 /* SHM_RDONLY */);
    CHECK(at >= IP_OWN_END && at < IP_CLIENT_END_BARE && again + 3 * RT_PAGE == at);
    *(u64 *)at = 99;
    CHECK(*(u64 *)again == 99);
    struct rt_seg seg;
    CHECK(rt_find_seg(at, &seg) && seg.kind == RT_SEG_SHM && seg.lo == at && (seg.mflags & MM_SHARED));
    CHECK(CALL(__NR_mprotect, at + RT_PAGE, RT_PAGE, 1) == 0);
    CHECK(CALL(__NR_shmdt, at + RT_PAGE) == -EINVAL);
    CHECK(CALL(__NR_shmdt, at) == 0 && !rt_find_seg(at, &seg) && !rt_find_seg(at + 2 * RT_PAGE, &seg));
    CHECK(rt_find_seg(again, &seg) && CALL(__NR_munmap, again, RT_PAGE) == 0); /* its first page need not be there */
    CHECK(CALL(__NR_shmdt, again + RT_PAGE) == -EINVAL && CALL(__NR_shmdt, again + 1) == -EINVAL);
    CHECK(CALL(__NR_shmdt, again) == 0 && !rt_find_seg(again + RT_PAGE, &seg) && CALL(__NR_shmdt, again) == -EINVAL);
    CHECK(CALL(__NR_shmctl, id, 0 /* IPC_RMID */, 0) == 0);
}

static void placing(void) {
    u64 low = (u64)CALL(__NR_mmap, 0, RT_PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    CHECK(low < IP_IMAGES_HI);
    const u64 not_there[] = {IP_CACHE_BASE, IP_LOW_END - RT_PAGE, IP_OWN_BASE, IP_OWN_END - RT_PAGE,
                             IP_CLIENT_END_BARE};
    for (u32 i = 0; i < sizeof not_there / sizeof *not_there; i++) {
        u64 at = not_there[i];
        CHECK(CALL(__NR_mmap, at, RT_PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == -ENOMEM);
        u64 moved = (u64)CALL(__NR_mmap, at, RT_PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(moved >= IP_OWN_END && moved < IP_CLIENT_END_BARE);
    }
    const u64 there[] = {IP_LOW_END, IP_OWN_BASE - RT_PAGE, IP_OWN_END, 0x7e8000000000};
    for (u32 i = 0; i < sizeof there / sizeof *there; i++)
        CHECK((u64)CALL(__NR_mmap, there[i], RT_PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == there[i]);
    CHECK(CALL(__NR_mmap, 0, 0, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == -EINVAL);
    CHECK(CALL(__NR_mmap, 0, RT_PAGE, 3, MAP_PRIVATE, 77, 0) == -EBADF);
    CHECK(CALL(__NR_munmap, IP_RT_BASE, 0x800000) == 0); /* the runtime is still here */
    CHECK(CALL(__NR_mprotect, IP_RT_BASE, RT_PAGE, 0) == -ENOMEM);
    CHECK(CALL(__NR_madvise, IP_RT_BASE, RT_PAGE, 4) == -ENOMEM);
    CHECK(CALL(__NR_mlockall, 0) == -EINVAL && CALL(__NR_mlockall, 3) == 0);
    CHECK(CALL(__NR_mmap, 0, RT_PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) > 0);
    CHECK(CALL(__NR_munlockall, 0) == 0);
    u64 grows = (u64)CALL(__NR_mmap, IP_CLIENT_LO + (1ull << 36), RT_PAGE, 3,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);
    CHECK(rt_grow_stack(&ts, grows - 5 * RT_PAGE + 8));
    *(u64 *)(grows - 5 * RT_PAGE) = 1;
    CHECK(rt_grow_stack(&ts, grows - 6 * RT_PAGE) && !rt_grow_stack(&ts, grows + RT_PAGE));
    CHECK(!rt_grow_stack(&ts, grows - (64ull << 20)));
}

/* Used in a circle: what is still mapped is stepped over. */
static void own_window(void) {
    const u64 large = 64ull << 30, whole = IP_OWN_END - IP_OWN_BASE;
    const u32 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    u64 kept = (u64)rt_own_map(RT_PAGE, 0, flags, -1), wraps = 0, last = 0;
    CHECK(kept >= IP_OWN_BASE && kept < IP_OWN_END);
    for (u32 i = 0; i < 20; i++) {
        u64 at = (u64)rt_own_map(large, 0, flags, -1);
        CHECK(at >= IP_OWN_BASE && at + large <= IP_OWN_END);
        CHECK(at > kept || at + large <= kept);
        wraps += at < last;
        last = at;
        sys2(__NR_munmap, (long)at, (long)large);
    }
    CHECK(wraps >= 2);
    CHECK(rt_own_map(whole, 0, flags, -1) == -ENOMEM && rt_own_map(2 * whole, 0, flags, -1) == -ENOMEM);
    CHECK(rt_own_map(RT_PAGE, 0, flags, -1) > 0);
}

static void notation(void) {
    const u64 args[6] = {3, 0, 10, 0, 0, 0};
    struct rt_syscall_arg a;
    const char *p = "fd:d buf:?>$2*4!^*4@x.y(z) vec:V<7 to:A>";
    CHECK(rt_next_arg(&p, &a) && a.kind == RT_ARG_32 && rt_strcmp(a.name, "fd") == 0);
    CHECK(rt_next_arg(&p, &a) && a.kind == RT_ARG_OUT && a.maybe_null && rt_strcmp(a.report, "x.y(z)") == 0);
    CHECK(rt_size_value(&a.size, args, 0) == 40 && rt_size_value(&a.after, args, 5) == 20);
    CHECK(rt_size_value(&a.after, args, -5) == 0);
    CHECK(rt_next_arg(&p, &a) && a.kind == RT_ARG_IOV_IN && rt_size_value(&a.size, args, 0) == 7);
    CHECK(rt_next_arg(&p, &a) && a.kind == RT_ARG_ADDR_OUT && !rt_next_arg(&p, &a));
    const u64 huge[6] = {0, 0, ~0ull, 0, 0, 0};
    p = "x:<$2*16";
    CHECK(rt_next_arg(&p, &a) && rt_size_value(&a.size, huge, 0) == ~0ull);
    CHECK(rt_strcmp(rt_syscall_info(__NR_newfstatat)->in_messages, "fstatat") == 0);
    CHECK(rt_syscall_info(400) == NULL && rt_syscall_info(-1) == NULL && rt_syscall_info(1 << 20) == NULL);
}

void harness_main(u64 *sp) {
    (void)sp;
    rt.chan = rt_pages(sizeof *rt.chan);
    rt.sock_fd = rt.runtime_fd = -1;
    rt_mm_init(&ts);
    registers();
    interrupted();
    descriptors();
    own_executable();
    own_mappings();
    kernel_writes_to_code_pages();
    shared_memory();
    placing();
    own_window();
    notation();
    say("ok %u checks\n", lines);
    sys1(__NR_exit_group, 0);
}
