/* execve and execveat.
 *
 * Without --trace-children the kernel does it all; the supervisor only hears
 * of it, because the process will go on without the runtime.  With it, scripts
 * are resolved here (the runtime loads ELF files), the supervisor sends what a
 * new image needs, and the runtime executes itself again.
 */
#include <asm/stat.h>
#include <linux/elf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/resource.h>
#include <linux/stat.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/processes/processes.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/syscalls/seccomp.h"
#include "runtime/hooks.h"
#include "runtime/signals/sig.h"
#include "runtime/ptrace/ptrace.h"

#define PATH_SIZE     4096
#define SCRIPT_LEVELS 4
#define SCRIPT_LINE   256        /* BINPRM_BUF_SIZE */
#define MAX_ARGS      0x1000000u /* far beyond what the stack may hold: E2BIG comes before */
#define N_FDS         5
#define MAX_PHDRS     (65536 / sizeof(Elf64_Phdr)) /* the kernel's limit, in bytes */
#define EACCESS       0x200                        /* AT_EACCESS */

struct work {                /* too large for the runtime stack */
    char path[PATH_SIZE];    /* what the guest named, made usable from here */
    char program[PATH_SIZE]; /* the ELF file after all interpreters */
    char script[SCRIPT_LEVELS][PATH_SIZE + 32];
    char line[SCRIPT_LEVELS][SCRIPT_LINE + 1];
    char loader[PATH_SIZE + 1];      /* the ELF interpreter that the program names */
    char name[PATH_SIZE + 32];       /* of the file, as execveat(2) tells an interpreter */
    u64 lead[2 * SCRIPT_LEVELS + 1]; /* arguments before the guest's argv[1] */
    u32 n_lead;
};

void exec_free(struct tstate *ts) {
    struct sig_priv *p = sig_priv(ts);
    if (p->exec_work) rt_free_pages(p->exec_work, sizeof(struct work));
    if (p->exec_argv) rt_free_pages(p->exec_argv, p->exec_argv_bytes);
    p->exec_work = p->exec_argv = NULL;
}

struct exec_args {
    u64 argv, envp;
    int dirfd, flags;
    u64 nr;      /* the call that the guest made */
    bool closes; /* the path goes by way of a descriptor that the exec closes */
};

/* ---- the last step ---------------------------------------------------------------- */

/* Signals of ours (SIGTRAP) would kill a program that has no handler for them yet:
 * none may be sent from now on; what is pending comes when the mask allows it. */
static void signals_of_ours(struct rt_thread *th, bool allowed) {
    if (th->vfork_child) return;  /* they go to its parent */
    rt_flush_fork_lock(!allowed); /* who holds it may kick */
    rt_signal_when_gone(allowed);
}

/* The mask goes to the new image as the guest left it.  A signal that comes
 * before the kernel starts undoes everything: RT_INTERRUPTED. */
static long commit(struct tstate *ts, u64 nr, const u64 args[6], bool ours) {
    struct rt_thread *th = rt_th(ts);
    traced_exec(ts, true);
    signals_of_ours(th, false);
    sig_block_everything(); /* a mask that really changes makes the kernel look at what is pending */
    sig_table_before_exec(ts);
    if (!ours) rt_limits_before_exec(th);
    sig_kernel_mask(th->pending_sig ? SIG_BLOCK_ALL : th->sigmask);
    if (!th->pending_sig) sig_give_back(ts);
    long r = RT_INTERRUPTED;
    rt_delay(IP_AT_EXEC);
    if (sig_hold_off_end(ts)) {
        r = rt_kernel(th, (long)nr, args);
        sig_admit_end(ts);
    }
    sig_block_everything();
    traced_exec(ts, false);
    if (!ours) rt_limits_after_exec(th);
    sig_table_after_exec(ts);
    signals_of_ours(th, true);
    sig_unblock_everything(th);
    return r;
}

static long native(struct tstate *ts, const struct exec_args *x, const char *path) {
    u64 execve[6] = {(u64)path, x->argv, x->envp, 0, 0, 0};
    u64 execveat[6] = {(u64)(i64)x->dirfd, (u64)path, x->argv, x->envp, (u64)(i64)x->flags, 0};
    return commit(ts, x->nr, x->nr == __NR_execve ? execve : execveat, false);
}

/* ---- telling the supervisor --------------------------------------------------------- */

static u64 guest_word(u64 at) {
    u64 w = 0;
    return at && rt_copy_from(&w, at, 8) == 0 ? w : 0;
}

static u32 count_args(u64 argv) {
    u32 n = 0;
    while (n < MAX_ARGS && guest_word(argv ? argv + 8ull * n : 0)) n++;
    return n;
}

static bool readable(u64 argv) {
    u64 w = 1;
    for (u32 n = 0; argv && w && n < MAX_ARGS; n++)
        if (rt_copy_from(&w, argv + 8ull * n, 8) != 0) return false;
    return true;
}

/* path NUL argv[0] NUL ...; what does not fit is left out. */
static long ask(struct tstate *ts, const char *path, const u64 *lead, u32 n_lead, u64 argv, bool can_follow) {
    struct ip_slot *s = rt_slot(ts);
    u32 len = (u32)rt_strlen(path) + 1, n = 0, skip = n_lead ? 1 : 0, argc = count_args(argv);
    if (rt_th(ts)->vfork_child) /* first: a tool may make requests of its own, in the same slot */
        rt_hook_thread_end(ts);
    else
        rt_hook_leaving(ts, true);
    memcpy(s->data, path, len);
    for (u32 i = 0; i < n_lead + (argc > skip ? argc - skip : 0); i++) {
        u64 arg = i < n_lead ? lead[i] : guest_word(argv + 8ull * (i - n_lead + skip));
        long r = rt_strncpy_from((char *)s->data + len, arg, IP_SLOT_DATA - len);
        if (r < 0) break;
        len += (u32)r + 1;
        n++;
    }
    s->len = len;
    s->a[0] = n;
    s->a[1] = rt_th(ts)->pid;
    s->a[2] = rt_th(ts)->vfork_child;
    s->a[3] = can_follow;
    if (rt_th(ts)->vfork_child) s->a[5] = rt_show_pid(), s->a[6] = rt_debug_tells_of(ts);
    rt_request_python(ts, IP_R_EXEC);
    return (long)s->r[0];
}

static void tell_failed(struct tstate *ts, long result) {
    struct ip_slot *s = rt_slot(ts);
    s->a[0] = (u64)(result == RT_INTERRUPTED ? EINTR : -result);
    s->len = 0;
    rt_request_python(ts, IP_R_EXEC_FAILED);
}

/* ---- what is to be executed ----------------------------------------------------------- */

static bool odd_flags(const struct exec_args *x, const char *path) {
    struct statx st;
    if (x->flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)) return true;
    if (!(x->flags & AT_SYMLINK_NOFOLLOW)) return false;
    return sys5(__NR_statx, AT_FDCWD, (long)path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, (long)&st) != 0 ||
           (st.stx_mode & S_IFMT) == S_IFLNK;
}

static bool executable(const char *path) {
    struct statx st;
    long r = sys4(__NR_faccessat2, AT_FDCWD, (long)path, 1 /* X_OK */, EACCESS);
    /* Before Linux 5.8, and where a container's filter knows no later call: by the real ids. */
    if (r == -ENOSYS || r == -EPERM) r = sys3(__NR_faccessat, AT_FDCWD, (long)path, 1);
    if (r != 0) return false;
    if (sys5(__NR_statx, AT_FDCWD, (long)path, 0, STATX_TYPE | STATX_MODE, (long)&st) != 0) return false;
    return (st.stx_mode & S_IFMT) == S_IFREG;
}

/* Privileges come from the kernel's own exec only. */
static bool privileged(const char *path) {
    struct statx st;
    long r = sys5(__NR_statx, AT_FDCWD, (long)path, 0, STATX_MODE, (long)&st);
    return r == 0 && (st.stx_mode & (S_ISUID | S_ISGID));
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* "#!interpreter [one argument]", execve(2).  Cuts line into pieces. */
static bool parse_script(char *line, char **interp, char **arg) {
    char *p = line + 2, *end;
    for (end = p; *end && *end != '\n'; end++);
    while (end > p && is_blank(end[-1])) end--;
    *end = 0;
    while (is_blank(*p)) p++;
    if (!*p) return false;
    *interp = p;
    while (*p && !is_blank(*p)) p++;
    *arg = NULL;
    if (*p) {
        *p++ = 0;
        while (is_blank(*p)) p++;
        *arg = *p ? p : NULL;
    }
    return true;
}

/* Open for writing somewhere: a lease tells (fcntl(2)), which only owners may ask for. */
static bool busy(long fd) {
    bool taken = sys3(__NR_fcntl, fd, F_SETLEASE, F_RDLCK) == -EAGAIN;
    if (!taken) sys3(__NR_fcntl, fd, F_SETLEASE, F_UNLCK);
    return taken;
}

/* Of an interpose that this one runs.  It needs the addresses of ours, so what it runs is left to it. */
static bool is_runtime(const char *head, u64 n) {
    Elf64_Ehdr eh;
    Elf64_Phdr ph;
    if (n < sizeof eh) return false;
    memcpy(&eh, head, sizeof eh);
    for (u64 i = 0, at = eh.e_phoff; i < eh.e_phnum && at <= n - sizeof ph; i++, at += sizeof ph) {
        memcpy(&ph, head + at, sizeof ph);
        if (ph.p_type == PT_LOAD) return eh.e_type == ET_EXEC && ph.p_vaddr == IP_RT_BASE;
    }
    return false;
}

static bool is_elf_here(const Elf64_Ehdr *eh) {
    return eh->e_ident[EI_CLASS] == ELFCLASS64 && eh->e_ident[EI_DATA] == ELFDATA2LSB && eh->e_machine == EM_X86_64 &&
           (eh->e_type == ET_EXEC || eh->e_type == ET_DYN) && eh->e_phentsize == sizeof(Elf64_Phdr) &&
           eh->e_phnum != 0 && eh->e_phnum <= MAX_PHDRS;
}

static bool executable_elf(const char *path) {
    Elf64_Ehdr eh;
    if (!executable(path)) return false;
    long fd = sys4(__NR_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return false;
    bool is = sys3(__NR_read, fd, (long)&eh, sizeof eh) == sizeof eh && is_elf_here(&eh);
    sys1(__NR_close, fd);
    return is;
}

/* What the kernel looks at while it can still go back: it answers what is wrong there by an error. */
static bool is_program(struct work *w, long fd, const char *head, u64 n) {
    Elf64_Ehdr eh;
    Elf64_Phdr ph;
    if (n < sizeof eh) return false;
    memcpy(&eh, head, sizeof eh);
    if (!is_elf_here(&eh)) return false;
    for (u32 i = 0; i < eh.e_phnum; i++) {
        long at = (long)(eh.e_phoff + i * sizeof ph);
        if (sys4(__NR_pread64, fd, (long)&ph, sizeof ph, at) != sizeof ph) return false;
        if (ph.p_type != PT_INTERP) continue;
        memset(w->loader, 0, sizeof w->loader);
        return ph.p_filesz >= 2 && ph.p_filesz <= PATH_SIZE &&
               sys4(__NR_pread64, fd, (long)w->loader, (long)ph.p_filesz, (long)ph.p_offset) == (long)ph.p_filesz &&
               w->loader[ph.p_filesz - 1] == 0 && executable_elf(w->loader);
    }
    return true;
}

/* An ELF file for this machine, through scripts; false: leave it to the kernel.
 * name: what a script's interpreter is told. */
static bool resolve(struct work *w, const struct exec_args *x, const char *first, const char *name) {
    memcpy(w->program, first, rt_strlen(first) + 1);
    for (u32 level = 0;; level++) {
        char head[SCRIPT_LINE + 1] = {0}, *interp, *arg;
        if (!executable(w->program) || privileged(w->program)) return false;
        long fd = sys4(__NR_openat, AT_FDCWD, (long)w->program, O_RDONLY | O_CLOEXEC, 0);
        if (fd < 0) return false;
        long n = busy(fd) ? 0 : sys3(__NR_read, fd, (long)head, SCRIPT_LINE);
        bool is_elf = n >= 4 && memcmp(head, "\177ELF", 4) == 0;
        bool runs = is_elf && is_program(w, fd, head, (u64)n) && !is_runtime(head, (u64)n);
        sys1(__NR_close, fd);
        if (is_elf) return runs;
        if (n < 4) return false;
        if (head[0] != '#' || head[1] != '!' || level == SCRIPT_LEVELS || (level == 0 && x->closes)) return false;
        char *line = w->line[level];
        memcpy(line, head, sizeof head);
        if (!parse_script(line, &interp, &arg)) return false;
        const char *told = level == 0 ? name : w->program;
        memcpy(w->script[level], told, rt_strlen(told) + 1);
        /* Before what is there: the interpreter, its argument; argv[0] of the
         * script is replaced by its path. */
        u64 insert[3] = {(u64)interp, (u64)arg, (u64)w->script[level]};
        u32 n_insert = 0, keep = w->n_lead ? w->n_lead - 1 : 0;
        u64 old[2 * SCRIPT_LEVELS + 1];
        memcpy(old, w->lead + 1, keep * sizeof *old);
        for (u32 i = 0; i < 3; i++)
            if (insert[i]) w->lead[n_insert++] = insert[i];
        memcpy(w->lead + n_insert, old, keep * sizeof *old);
        w->n_lead = n_insert + keep;
        memcpy(w->program, interp, rt_strlen(interp) + 1);
    }
}

/* ---- executing ourselves again ----------------------------------------------------------- */

static bool block_is_free(int base) {
    if (base < 3) return false;
    for (int i = 0; i < N_FDS; i++)
        if (sys2(__NR_fcntl, base + i, F_GETFD) != -EBADF) return false;
    return true;
}

static bool take_block(const int fds[N_FDS], int base) {
    int done = 0;
    if (!block_is_free(base)) return false;
    while (done < N_FDS && sys3(__NR_dup3, fds[done], base + done, 0) == base + done) done++;
    if (done == N_FDS) return true;
    while (done-- > 0) sys1(__NR_close, base + done);
    return false;
}

static bool keep_as_they_are(const int fds[N_FDS]) {
    for (int i = 1; i < N_FDS; i++)
        if (fds[i] != fds[0] + i) return false;
    for (int i = 0; i < N_FDS; i++) sys3(__NR_fcntl, fds[i], F_SETFD, 0);
    return true;
}

/* Five consecutive high numbers that no one uses, or those that came; ours stay until the exec. */
static int place_fds(const int fds[N_FDS]) {
    for (int step = 1; step < 64; step++)
        for (int dir = -1; dir <= 1; dir += 2)
            if (take_block(fds, rt.runtime_fd + dir * step * N_FDS)) return rt.runtime_fd + dir * step * N_FDS;
    struct rlimit64 limit; /* lower than ours have come to lie: from there downwards */
    if (sys4(__NR_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit) == 0 && limit.rlim_cur < (u64)rt.runtime_fd)
        for (int base = (int)limit.rlim_cur - N_FDS; base > 2; base--)
            if (take_block(fds, base)) return base;
    return keep_as_they_are(fds) ? fds[0] : -1;
}

/* ---- what goes along ------------------------------------------------------------------------ */

/* Lies where slots of the new channel will be; only the first is in use when it is read. */
#define CARRIED_AT ((u64)IP_CHAN_SLOTS + IP_SLOT_SIZE)
struct carried {
    u8 limits[RT_LIMITS_BYTES];
    u64 tracer;
    u64 filters; /* bytes that follow */
};

static void carry(struct tstate *ts, int channel) {
    u64 filters = seccomp_saved_size(ts), bytes = CARRIED_AT + sizeof(struct carried) + filters;
    long at = rt_own_map(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, channel);
    if (at < 0 && at > -4096) rt_die("cannot map the channel of a new program (error %ld)", -at);
    struct carried *c = (struct carried *)(at + (long)CARRIED_AT);
    rt_limits_save(rt_th(ts), c->limits);
    c->tracer = rt.tracer;
    c->filters = filters;
    seccomp_save(ts, c + 1);
    ((struct ip_chan *)at)->carried = sizeof *c + filters;
    sys2(__NR_munmap, at, (long)bytes);
}

void rt_carried_over(struct tstate *ts) {
    rt.tracer = process_tracer();
    struct carried *c = (struct carried *)(IP_CHAN_BASE + CARRIED_AT);
    u64 bytes = rt.chan->carried;
    if (bytes == 0) return;
    u8 *copy = rt_pages(bytes); /* the slots are needed from now on */
    memcpy(copy, c, bytes);
    memset(c, 0, bytes);
    c = (struct carried *)copy;
    rt.tracer = (u32)c->tracer;
    rt_limits_restore(c->limits);
    seccomp_restore(ts, c + 1, c->filters);
    rt_free_pages(copy, bytes);
    rt.chan->carried = 0;
}

/* The runtime as a file that no path leads to: where the kernel refuses to execute what is outside of a sandbox
 * (Landlock), or on a file system without programs (noexec), it executes this. */
static bool runtime_in_memory(int runtime) {
    struct stat st;
    if (sys2(__NR_fstat, runtime, (long)&st) < 0) return false;
    long fd = rt_memory_file("interpose", (u64)st.st_size), copied = 0, r = 1;
    if (fd < 0) return false;
    while (r > 0 && copied < (long)st.st_size) /* the call itself moves the offset on */
        r = sys4(__NR_sendfile, fd, runtime, (long)&copied, (long)st.st_size - copied);
    if (r > 0) r = sys3(__NR_dup3, fd, runtime, 0);
    sys1(__NR_close, fd);
    return r > 0;
}

static long traced(struct tstate *ts, const struct exec_args *x, struct work *w) {
    u32 argc = count_args(x->argv), skip = w->n_lead ? 1 : 0, rest = argc > skip ? argc - skip : 0;
    struct sig_priv *p = sig_priv(ts);
    u64 bytes = (w->n_lead + rest + 1) * 8ull, *argv = rt_pages(bytes);
    p->exec_argv = argv;
    p->exec_argv_bytes = bytes;
    int fds[N_FDS];
    long r = 0;
    u32 n = 0;
    for (; n < w->n_lead; n++) argv[n] = w->lead[n];
    for (u32 i = 0; i < rest; i++) argv[n++] = guest_word(x->argv + 8ull * (i + skip));

    rt_lock(&process_fd_lock);
    process_expect_fds(true);
    long answer = ask(ts, w->program, w->lead, w->n_lead, x->argv, true);
    bool came = answer == 1 && process_receive_fds(ts, fds, N_FDS);
    process_expect_fds(false);
    rt_unlock(&process_fd_lock); /* now: a vfork child leaves the lock to its parent */
    if (answer < 0) {
        r = answer;
    } else if (answer == 0) {
        r = native(ts, x, w->path);
    } else if (!came) {
        r = -EMFILE;
    } else {
        struct rlimit64 before;
        bool raised = rt_more_files(&before);
        int base = place_fds(fds);
        if (raised) rt_files_as_before(&before);
        for (int i = 0; i < N_FDS && base != fds[0]; i++) sys1(__NR_close, fds[i]);
        r = -EMFILE;
        if (base >= 0) {
            carry(ts, base + 1);
            u64 args[6] = {(u64)base, (u64) "", (u64)argv, x->envp, AT_EMPTY_PATH, 0};
            r = commit(ts, __NR_execveat, args, true);
            if (r == -EACCES && runtime_in_memory(base)) r = commit(ts, __NR_execveat, args, true);
            for (int i = 0; i < N_FDS; i++) sys1(__NR_close, base + i);
        }
    }
    tell_failed(ts, r);
    return r;
}

/* ---- system calls ---------------------------------------------------------------------------- */

/* The path of an execveat as seen from the current directory; false: none. */
static bool path_from_here(struct work *w, struct exec_args *x, char *out) {
    u32 len = 0;
    rt_snprintf(w->name, sizeof w->name, "%s", w->path);
    if (!w->path[0] && !(x->flags & AT_EMPTY_PATH)) return false;
    if (x->nr == __NR_execveat && x->dirfd != AT_FDCWD && w->path[0] != '/') {
        char link[40];
        rt_snprintf(link, sizeof link, "/proc/self/fd/%d", x->dirfd);
        long n = sys3(__NR_readlink, (long)link, (long)out, PATH_SIZE - 1);
        if (n < 0 || out[0] != '/') return false;
        rt_snprintf(w->name, sizeof w->name, w->path[0] ? "/dev/fd/%d/%s" : "/dev/fd/%d", x->dirfd, w->path);
        x->closes = sys2(__NR_fcntl, x->dirfd, F_GETFD) & FD_CLOEXEC;
        len = (u32)n;
        if (w->path[0]) out[len++] = '/';
    }
    u64 rest = rt_strlen(w->path) + 1;
    if (len + rest > PATH_SIZE) return false;
    memcpy(out + len, w->path, rest);
    return out[0] != 0;
}

/* A memory file or one that was deleted: it is executed all the same. */
static bool has_no_name(const struct exec_args *x, const char *path) {
    struct statx st;
    return x->nr == __NR_execveat && !path[0] &&
           sys5(__NR_statx, x->dirfd, (long)"", AT_EMPTY_PATH, STATX_TYPE, (long)&st) == 0 &&
           (st.stx_mode & S_IFMT) == S_IFREG;
}

/* A program under a debugger that the guest runs is for that debugger to see, not the
 * engine in its place.  One that watches the whole run does not count. */
static bool has_debugger(void) {
    u32 tracer = process_tracer();
    return tracer != 0 && tracer != rt.tracer;
}

static long exec_any(struct tstate *ts, struct exec_args *x, u64 guest_path) {
    struct work *w = rt_pages(sizeof *w);
    sig_priv(ts)->exec_work = w;
    char *here = w->script[SCRIPT_LEVELS - 1]; /* free until the last level is resolved */
    long r = rt_strncpy_from(w->path, guest_path, PATH_SIZE);
    if (r < 0) goto out;
    /* The guest's own program, where the kernel or the next image would see a runtime. */
    bool traces = (rt.chan->config_flags & IP_C_TRACE_CHILDREN) != 0; /* --trace-children may change at run time */
    if ((!rt_exe_is_programs || traces) && rt_names_own_exe(x->dirfd, guest_path))
        memcpy(w->path, rt.exe_path, rt_strlen(rt.exe_path) + 1);
    bool led = path_from_here(w, x, here), known = led && executable(here) && !odd_flags(x, here);
    if (known && traces && !has_debugger() && readable(x->argv) && resolve(w, x, here, w->name)) {
        r = traced(ts, x, w);
    } else if (!(known || (led && has_no_name(x, w->path))) || rt_th(ts)->vfork_child) {
        /* Most likely it fails (a search of PATH), or it is no one's business. */
        r = native(ts, x, w->path);
    } else {
        (void)ask(ts, here, NULL, 0, x->argv, false); /* its answer is 0: no descriptors come */
        r = native(ts, x, w->path);
        tell_failed(ts, r);
    }
out:
    exec_free(ts);
    return r;
}

long rt_sys_execve(struct tstate *ts) {
    const u64 *g = ts->gpr;
    struct exec_args x = {.argv = g[IP_RSI], .envp = g[IP_RDX], .dirfd = AT_FDCWD, .nr = __NR_execve};
    return exec_any(ts, &x, g[IP_RDI]);
}

long rt_sys_execveat(struct tstate *ts) {
    const u64 *g = ts->gpr;
    struct exec_args x = {
        .argv = g[IP_RDX], .envp = g[IP_R10], .dirfd = (int)g[IP_RDI], .flags = (int)g[IP_R8], .nr = __NR_execveat};
    return exec_any(ts, &x, g[IP_RSI]);
}
