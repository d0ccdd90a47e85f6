/* The command `interpose`: what the user's process is until it executes the runtime.
 *
 * It starts Python beside itself, where Python would fork twice to become the supervisor, with copies of all pages that
 * it then changes, and would be thrown away in the process that the program gets.  And it starts it without `site`,
 * which takes a third of Python's start (interpose/launched.py looks after what is not found then).
 *
 * Whatever is not as usual is left to Python in this process: the script beside this file is the whole command, too.
 */
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/auxvec.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/resource.h>
#include <linux/signal.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <stddef.h>

#include "abi/channel.h"
#include "abi/launch.h"
#include "runtime/base/sys.h"

typedef unsigned long word;

#define SCRIPT    "interpose-python"
#define HIDDEN    "INTERPOSE_HIDDEN_" /* before names of variables; a shell would drop what is no name */
#define PATH_MAX  4096
#define PYTHON_FD 250 /* clear of descriptors that options name */
#define X_OK      1
#define ADDED     8 /* words in front of the user's */

/* linux/socket.h has none of these for programs */
#define AF_UNIX          1
#define SOCK_STREAM      1
#define SOCK_CLOEXEC     02000000
#define SOL_SOCKET       1
#define SO_PASSCRED      16
#define SCM_RIGHTS       1
#define MSG_CMSG_CLOEXEC 0x40000000

struct part {
    void *at;
    word size;
};

struct message {
    void *name;
    unsigned name_size;
    struct part *parts;
    word part_count;
    void *control;
    word control_size;
    int flags;
};

struct control {
    word size;
    int level, type;
    int files[IP_LAUNCH_FILES];
};

static char **words, **environment; /* the user's, as the kernel gave them */
static long count;
static const char *name;                      /* of the command, as it was found */
static char script[PATH_MAX + sizeof SCRIPT]; /* beside this file */
static char line[PATH_MAX + 8], *python;      /* its first line, and the interpreter in it, if it is one */
static struct rlimit64 files;                 /* RLIMIT_NOFILE as the program shall have it */
static word files_now;                        /* its soft limit meanwhile */

static word length(const char *s) {
    word n = 0;
    while (s[n]) n++;
    return n;
}

static void say(const char *s) { sys3(__NR_write, 2, (long)s, (long)length(s)); }

__attribute__((noreturn)) static void leave(int code) {
    for (;;) sys1(__NR_exit_group, code);
}

/* One line, of up to three parts. */
__attribute__((noreturn)) static void fail(const char *what, const char *which, const char *why) {
    say("interpose: ");
    say(what);
    say(which);
    say(why);
    say("\n");
    leave(1);
}

static void *room(word bytes) {
    long at = sys6(__NR_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at < 0) fail("out of memory; check 'ulimit -v' and free memory", "", "");
    return (void *)at;
}

static char *number(char *end, word n) {
    *--end = 0;
    do *--end = (char)('0' + n % 10);
    while (n /= 10);
    return end;
}

/* Room for what this process opens, and as it was. */
static void more_files(void) {
    sys4(__NR_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&files);
    word few = files.rlim_max < IP_FEW_FILES ? files.rlim_max : IP_FEW_FILES;
    struct rlimit64 more = {few, files.rlim_max};
    files_now = files.rlim_cur;
    if (files_now < few && sys4(__NR_prlimit64, 0, RLIMIT_NOFILE, (long)&more, 0) == 0) files_now = few;
}

static void restore_files(void) {
    if (files_now != files.rlim_cur) sys4(__NR_prlimit64, 0, RLIMIT_NOFILE, (long)&files, 0);
}

static const char *reason(long error) {
    switch (-error) {
    case EACCES: return "Permission denied";
    case ENOENT: return "No such file or directory";
    case ENOMEM: return "Cannot allocate memory";
    case E2BIG: return "Argument list too long";
    case EPERM: return "Operation not permitted";
    case ENOEXEC: return "Exec format error";
    case ETXTBSY: return "Text file busy";
    default: return number(line + sizeof line, (word)-error);
    }
}

/* ---- what is where ------------------------------------------------------------------------- */

/* Put the script's path together; false if nobody says where this file is. */
static bool find_script(void) {
    long n = sys3(__NR_readlink, (long)"/proc/self/exe", (long)script, PATH_MAX);
    if (n <= 0) { /* /proc is not mounted: links to this file are not followed */
        for (n = 0; name[n] && n < PATH_MAX; n++) script[n] = name[n];
        if (name[n]) return false;
    }
    while (n && script[n - 1] != '/') n--;
    for (word i = 0; i < sizeof SCRIPT; i++) script[(word)n + i] = SCRIPT[i];
    return true;
}

/* The interpreter that the installer has written into the script; none if the line holds more, or is a shell's.  It may
 * have spaces and be longer than the kernel would read. */
static void find_python(void) {
    long fd = sys3(__NR_open, (long)script, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) fail(script, " cannot be read: ", reason(fd));
    long n = sys3(__NR_read, fd, (long)line, sizeof line - 1), last = 2, end = 2;
    sys1(__NR_close, fd);
    if (n < 3 || line[0] != '#' || line[1] != '!' || script[0] != '/') return;
    for (; end < n && line[end] != '\n'; end++)
        if (line[end] == '/') last = end + 1;
    if (end == n) return;
    line[end] = 0;
    for (int i = 0; i < 6; i++)
        if (line[last + i] != "python"[i]) return;
    if (sys2(__NR_access, (long)(line + 2), X_OK) == 0) python = line + 2;
}

/* ---- Python ---------------------------------------------------------------------------------- */

static bool begins(const char *s, const char *with) {
    while (*with && *s == *with) s++, with++;
    return !*with;
}

/* Is a variable the program's, and to be hidden from our Python?  What is preloaded, audited or traced is the program,
 * but for where libraries are found, which may be what Python's own need; and PYTHONHOME, say, is that of the Python in
 * it. */
static bool is_programs(const char *variable, bool linkers) {
    static const char *const ours[] = {
        "PYTHONDONTWRITEBYTECODE=", "PYTHONPYCACHEPREFIX=", "PYTHONUSERBASE=", "PYTHONNOUSERSITE="};
    if (begins(variable, "LD_")) return linkers && !begins(variable, "LD_LIBRARY_PATH=");
    if (!begins(variable, "PYTHON")) return false;
    for (word i = 0; i < sizeof ours / sizeof *ours; i++)
        if (begins(variable, ours[i])) return false;
    return true;
}

/* The environment with the program's variables under names that nobody knows.  The script and launched.py put the names
 * back. */
static char **spared(bool linkers) {
    word n = 0;
    while (environment[n]) n++;
    char **all = room((n + 1) * sizeof *all);
    for (word i = 0; i < n; i++) {
        all[i] = environment[i];
        if (!is_programs(all[i], linkers)) continue;
        word size = length(all[i]) + 1, before = sizeof HIDDEN - 1;
        char *hidden = room(before + size);
        for (word k = 0; k < before; k++) hidden[k] = HIDDEN[k];
        for (word k = 0; k < size; k++) hidden[before + k] = all[i][k];
        all[i] = hidden;
    }
    return all;
}

/* Execute Python with the script; returns if that fails.  fd: where it answers, or -1: it is this process.  */
static void execute_python(long fd, long pid, long parent) {
    static char numbers[3][24];
    char **argv = room((word)(count + ADDED) * sizeof *argv), **at = argv;
    *at++ = python;
    if (fd >= 0) *at++ = "-S";
    *at++ = script;
    *at++ = "@launched";
    *at++ = fd < 0 ? "-1" : number(numbers[0] + sizeof numbers[0], (word)fd);
    *at++ = number(numbers[1] + sizeof numbers[1], (word)pid);
    *at++ = number(numbers[2] + sizeof numbers[2], (word)parent);
    *at++ = (char *)name;
    for (long i = 1; i < count; i++) *at++ = words[i];
    sys3(__NR_execve, (long)python, (long)argv, (long)spared(fd >= 0));
}

/* Have Python do it all in this process. */
__attribute__((noreturn)) static void give_up(void) {
    restore_files();
    if (python) execute_python(-1, 0, 0);
    words[0] = script;
    long error = sys3(__NR_execve, (long)script, (long)words, (long)environment);
    fail(script, " or the Python that it names cannot be executed: ", reason(error));
}

static long fork(void) { return sys5(__NR_clone, SIGCHLD, 0, 0, 0, 0); }

/* Python does not start where standard input is a folder; nothing of ours could be read from it either. */
static void leave_folder(void) {
    struct stat status;
    if (sys2(__NR_fstat, 0, (long)&status) < 0 || (status.st_mode & S_IFMT) != S_IFDIR) return;
    long null = sys3(__NR_open, (long)"/dev/null", O_RDONLY, 0);
    if (null > 0) {
        sys2(__NR_dup2, null, 0);
        sys1(__NR_close, null);
    }
}

/* A child that is no child of the program's, later, as nobody has started it any more. */
static long start_python(int end) {
    long pid = sys0(__NR_getpid), parent = sys0(__NR_getppid);
    long child = fork();
    if (child) return child;
    long python_pid = fork();
    if (python_pid) leave(python_pid < 0);
    long fd = sys3(__NR_fcntl, end, F_DUPFD, PYTHON_FD);
    if (fd < 0) fd = sys3(__NR_fcntl, end, F_DUPFD, 3);
    leave_folder();
    /* While it starts, Ctrl-C would have Python show a traceback. */
    static const struct sigaction ignored = {.sa_handler = SIG_IGN};
    sys4(__NR_rt_sigaction, SIGINT, (long)&ignored, 0, sizeof ignored.sa_mask);
    if (fd >= 0) execute_python(fd, pid, parent);
    static const struct ip_launch again = {.kind = IP_LAUNCH_AGAIN};
    sys3(__NR_write, end, (long)&again, sizeof again);
    leave(1);
}

/* ---- the runtime ----------------------------------------------------------------------------- */

/* Duplicate descriptors to the highest consecutive free numbers; the first of these, or -1.
 * Only taking a number shows that it is free: those of an interpose that runs this one are hidden. */
static long place(const int fds[], long n) {
    long limit = files_now < IP_HIGHEST_FD ? (long)files_now : IP_HIGHEST_FD;
    for (long base = limit - n; base > 2;) {
        long taken = 0, got = 0;
        for (; taken < n; taken++) {
            got = sys3(__NR_fcntl, fds[taken], F_DUPFD, base + taken);
            if (got != base + taken) break;
        }
        if (taken == n) return base;
        if (got >= 0) sys1(__NR_close, got);
        for (long i = 0; i < taken; i++) sys1(__NR_close, base + i);
        base += taken - n; /* the last of them just below the one in use */
    }
    return -1;
}

static void read_all(int fd, char *to, word n) {
    while (n) {
        long got = sys3(__NR_read, fd, (long)to, (long)n);
        if (got == -EINTR) continue;
        if (got <= 0) leave(1); /* it has said why */
        to += got, n -= (word)got;
    }
}

/* Execute the runtime as the answer has it. */
__attribute__((noreturn)) static void execute_runtime(const int fds[], int sock, word size) {
    char *text = room(size + 1), **argv = room((size + 2) * sizeof *argv), **at = argv;
    read_all(sock, text, size);
    const char *runtime = text;
    for (char *p = text + length(text) + 1; p < text + size; p += length(p) + 1) *at++ = p;
    int all[IP_LAUNCH_FILES + 1];
    for (int i = 0; i < IP_LAUNCH_FILES; i++) all[i] = fds[i];
    all[IP_LAUNCH_FILES] = sock;
    long base = place(all, IP_LAUNCH_FILES + 1);
    if (base < 0) fail("no 5 consecutive file descriptors are free; raise ulimit -n", "", "");
    restore_files();
    long error = sys5(__NR_execveat, base, (long)"", (long)argv, (long)environment, AT_EMPTY_PATH);
    say("interpose: cannot execute ");
    say(runtime);
    say(": ");
    say(reason(error));
    say("\n");
    leave(1);
}

/* What Python answers. */
__attribute__((noreturn)) static void await(int sock) {
    struct ip_launch head = {0};
    struct control control = {0};
    struct part part = {&head, sizeof head};
    struct message m = {.parts = &part, .part_count = 1, .control = &control, .control_size = sizeof control};
    long got;
    do got = sys3(__NR_recvmsg, sock, (long)&m, MSG_CMSG_CLOEXEC);
    while (got == -EINTR);
    if (got <= 0) fail("the supervisor process ended before it was ready (killed?)", "", "");
    if (head.kind == IP_TOLD) leave(1);
    if ((word)got < sizeof head) read_all(sock, (char *)&head + got, sizeof head - (word)got);
    if (head.kind == IP_LAUNCH_END) leave(head.code);
    if (head.kind != IP_LAUNCH_READY) {
        sys1(__NR_close, sock);
        give_up();
    }
    if (control.size < offsetof(struct control, files) + sizeof control.files || control.type != SCM_RIGHTS)
        fail("no descriptors came from the supervisor; raise ulimit -n", "", "");
    execute_runtime(control.files, sock, head.size);
}

/* Not 0 to 2, if the run began with one of them closed. */
static int above_stdio(int fd) {
    long moved = fd > 2 ? fd : sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, 3);
    if (moved < 0) give_up();
    if (moved != fd) sys1(__NR_close, fd);
    return (int)moved;
}

__attribute__((noreturn, used)) static void launcher_main(word *stack) {
    count = (long)stack[0];
    words = (char **)(stack + 1);
    environment = words + count + 1;
    char **end = environment;
    while (*end) end++;
    name = count > 0 ? words[0] : "interpose";
    for (word *aux = (word *)(end + 1); aux[0] != AT_NULL; aux += 2)
        if (aux[0] == AT_EXECFN) name = (const char *)aux[1];
    if (!find_script()) fail(name, ": the name is too long", "");
    find_python();
    int ends[2], on = 1;
    if (!python || count < 2 || (count == 2 && words[1][0] == '-')) give_up(); /* no program is named */
    more_files();
    if (sys4(__NR_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, (long)ends) < 0) give_up();
    ends[0] = above_stdio(ends[0]);
    ends[1] = above_stdio(ends[1]);
    sys5(__NR_setsockopt, ends[0], SOL_SOCKET, SO_PASSCRED, (long)&on, sizeof on);
    long child = start_python(ends[0]);
    if (child < 0) give_up();
    sys1(__NR_close, ends[0]);
    int status = 0;
    long reaped;
    do reaped = sys4(__NR_wait4, child, (long)&status, 0, 0);
    while (reaped == -EINTR);
    if (status) give_up(); /* there was no second child */
    await(ends[1]);
}

__asm__(".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "        xor     %ebp, %ebp\n"
        "        mov     %rsp, %rdi\n"
        "        and     $-16, %rsp\n"
        "        call    launcher_main\n"
        "        hlt\n"
        ".size _start, . - _start\n");
