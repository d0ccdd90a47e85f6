/* Ways to make, leave and restrict processes: prints the same natively and here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void result(const char *what, int st) {
    if (WIFEXITED(st))
        printf("%s: exit %d\n", what, WEXITSTATUS(st));
    else
        printf("%s: signal %d\n", what, WTERMSIG(st));
}

static void in_child(const char *what, int (*f)(void)) {
    int st;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int r = f();
        fflush(stdout);
        _exit(r);
    }
    if (pid < 0 || waitpid(pid, &st, 0) < 0) {
        printf("%s: %s\n", what, strerror(errno));
        return;
    }
    result(what, st);
}

static int closes_all(void) {
    char *p = malloc(5 << 20);
    close_range(3, ~0u, 0);
    for (int i = 3; i < 5000; i++) close(i);
    closefrom(3);
    memset(p, 1, 5 << 20);
    int fd = open("/dev/zero", O_RDONLY);
    printf("next descriptor %d\n", fd);
    for (int i = 4090; i < 4100; i++)
        if (fcntl(i, F_GETFD) >= 0) printf("descriptor %d is open\n", i);
    for (int i = 4085; i < 4100; i++)
        if (dup2(fd, i) != i) printf("dup2 to %d: %s\n", i, strerror(errno));
    for (int i = 4085; i < 4100; i++) close(i);
    char *q = malloc(50 << 20);
    memset(q, 1, 50 << 20);
    free(p);
    close(2);
    free(q);
    in_child("child without descriptors", (int (*)(void))getpagesize);
    return 7;
}

static int few_files(void) {
    struct rlimit lim = {5, 4096};
    setrlimit(RLIMIT_NOFILE, &lim);
    in_child("fork with five files", (int (*)(void))getpagesize);
    int st;
    if (vfork() == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    wait(&st);
    result("exec with five files", st);
    getrlimit(RLIMIT_NOFILE, &lim);
    printf("limit %d\n", (int)lim.rlim_cur);
    return 3;
}

static int daemonises(void) {
    int done[2];
    char byte = '?';
    pipe(done);
    fflush(stdout);
    if (fork() == 0) {
        setsid();
        signal(SIGHUP, SIG_IGN);
        if (fork() != 0) _exit(0);
        chdir("/");
        umask(0);
        dup2(done[1], 1);
        close_range(3, ~0u, 0);
        close(0);
        close(2);
        byte = getpid() != getsid(0) ? 'd' : 'x';
        write(1, &byte, 1);
        usleep(50000);
        byte = 'D';
        write(1, &byte, 1);
        _exit(0);
    }
    close(done[1]);
    int st;
    wait(&st);
    read(done[0], &byte, 1);
    printf("daemon: %c", byte);
    read(done[0], &byte, 1);
    printf("%c\n", byte);
    return 0;
}

static int changes_root(void) {
    mkdir("/tmp/empty-root", 0700);
    if (chroot("/tmp/empty-root") != 0) printf("no chroot\n");
    chdir("/");
    int st;
    fflush(stdout);
    if (fork() == 0) {
        malloc(10 << 20);
        _exit(access("/bin/sh", F_OK) ? 4 : 5);
    }
    wait(&st);
    result("fork in a chroot", st);
    return execl("/bin/true", "true", (char *)NULL) == -1 && errno == ENOENT ? 6 : 7;
}

static int undumpable(void) {
    prctl(PR_SET_DUMPABLE, 0);
    char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, 1 << 20);
    printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
    in_child("child of it", (int (*)(void))getpagesize);
    if (geteuid() == 0) {
        setresgid(65534, 65534, 65534);
        setresuid(65534, 65534, 65534);
        printf("uid %d\n", getuid());
        in_child("child of nobody", (int (*)(void))getpagesize);
    }
    return qsort != NULL ? 8 : 9;
}

static int orphan(void) {
    int p[2];
    char byte;
    pipe(p);
    fflush(stdout);
    if (fork() == 0) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            write(p[1], "r", 1);
            for (;;) pause();
        }
        read(p[0], &byte, 1);
        _exit(0);
    }
    close(p[1]);
    wait(NULL);
    int n = (int)read(p[0], &byte, 1); /* the end, when the grandchild is killed */
    printf("after the parent's death: %d\n", n);
    return 0;
}

static int filtered(void) {
    struct sock_filter deny[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mkdir, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_rmdir, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {sizeof deny / sizeof *deny, deny};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int r = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
    printf("filter %d", r);
    r = mkdir("/tmp/never", 0700);
    printf(", mkdir %s\n", r ? strerror(errno) : "worked");
    free(malloc(30 << 20));
    in_child("filtered child", (int (*)(void))getpagesize);
    fflush(stdout);
    rmdir("/tmp/never");
    return 1;
}

static int traces(void) {
    int st, calls = 0, in_call = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execl("/bin/true", "true", (char *)NULL);
        _exit(9);
    }
    waitpid(pid, &st, 0);
    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD);
    while (WIFSTOPPED(st)) {
        if (WSTOPSIG(st) == (SIGTRAP | 0x80) && !(in_call = !in_call)) calls++;
        ptrace(PTRACE_SYSCALL, pid, 0, 0);
        waitpid(pid, &st, 0);
    }
    printf("traced, many calls: %d\n", calls > 10);
    result("tracee", st);
    return 0;
}

static void exec_error(const char *path) {
    char *argv[] = {(char *)path, NULL};
    int r = execv(path, argv);
    printf("exec %s: %d %s\n", path, r, strerror(errno));
    pid_t pid;
    r = posix_spawn(&pid, path, NULL, NULL, argv, environ);
    int st;
    if (r == 0) {
        waitpid(pid, &st, 0);
        result(path, st);
    } else {
        printf("spawn %s: %s\n", path, strerror(r));
    }
}

static void put(const char *path, const char *text, mode_t mode) {
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    write(fd, text, strlen(text));
    close(fd);
    chmod(path, mode);
}

static int executes(void) {
    char dir[] = "/tmp/life-XXXXXX";
    mkdtemp(dir);
    chdir(dir);
    put("script", "#!/bin/sh -e\necho script $0 $1\nexit 5\n", 0755);
    put("plain", "text\n", 0644);
    put("garbage", "\177ELF no program", 0755);
    put("no-interpreter", "#!/nonexistent/interpreter\n", 0755);
    put("empty", "", 0755);
    static const char header32[] = "\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3";
    int fd = open("thirty-two", O_WRONLY | O_CREAT, 0755);
    write(fd, header32, sizeof header32);
    close(fd);
    const char *bad[] = {"./absent", "./plain", "./garbage", "./no-interpreter", "./empty", "./thirty-two",
                         "/", "./script/x", ""};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) exec_error(bad[i]);
    char **many = calloc(3000000, sizeof *many);
    for (int i = 0; i < 2999990; i++) many[i] = "x";
    printf("too many: %d %s\n", execv("/bin/true", many), strerror(errno));
    fflush(stdout);
    result("script", system("./script one"));
    FILE *f = popen("echo from popen; exit 3", "r");
    char line[64] = "";
    fgets(line, sizeof line, f);
    printf("%s", line);
    result("pclose", pclose(f));
    pid_t pid = vfork();
    if (pid == 0) _exit(12);
    int st;
    waitpid(pid, &st, 0);
    result("vfork", st);
    chdir("/");
    char command[64];
    sprintf(command, "rm -rf %s", dir);
    return system(command);
}

int main(void) {
    setvbuf(stdout, NULL, _IOFBF, 0);
    in_child("closes everything", closes_all);
    in_child("few files", few_files);
    in_child("daemon", daemonises);
    if (geteuid() == 0) in_child("chroot", changes_root);
    in_child("not dumpable", undumpable);
    in_child("orphan", orphan);
    in_child("seccomp", filtered);
    in_child("ptrace", traces);
    in_child("exec", executes);
    return 0;
}
