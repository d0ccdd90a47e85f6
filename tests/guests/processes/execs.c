/* Ways to execute: scripts, descriptors, memory files, deleted folders, odd arguments, and the failures. */
// errors: yes
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char self[4096];
static void in_child(const char *what, void (*f)(void)) {
    int st;
    pid_t p = fork();
    if (p == 0) {
        f();
        printf("%s: still here, %s\n", what, strerror(errno));
        _exit(99);
    }
    waitpid(p, &st, 0);
    if (WIFEXITED(st))
        printf("%s: exit %d\n", what, WEXITSTATUS(st));
    else
        printf("%s: signal %d\n", what, WTERMSIG(st));
}
static void put(const char *path, const char *text, mode_t mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    write(fd, text, strlen(text));
    close(fd);
    chmod(path, mode);
}
static char *empty_env[] = {NULL};
static char *some_env[] = {"A=1", "no equals sign", "A=2", "", NULL};
static void by_fd(void) {
    int fd = open(self, O_RDONLY | O_CLOEXEC);
    char *argv[] = {"by fd", "args", NULL};
    fexecve(fd, argv, empty_env);
}
static void by_path_fd(void) {
    int fd = open(self, O_PATH | O_CLOEXEC);
    char *argv[] = {"by O_PATH", "args", NULL};
    syscall(SYS_execveat, fd, "", argv, some_env, AT_EMPTY_PATH);
}
static void by_folder(void) {
    int dir = open("/bin", O_PATH | O_DIRECTORY);
    char *argv[] = {"sh", "-c", "exit 21", NULL};
    syscall(SYS_execveat, dir, "sh", argv, empty_env, 0);
}
static void from_memory(void) {
    char buf[65536];
    int in = open(self, O_RDONLY), fd = memfd_create("program", MFD_CLOEXEC);
    ssize_t n;
    while ((n = read(in, buf, sizeof buf)) > 0) write(fd, buf, n);
    char *argv[] = {"from memory", "args", NULL};
    fexecve(fd, argv, empty_env);
}
static void script_by_fd(void) {
    int fd = open("script", O_RDONLY);
    char *argv[] = {"script", "word", NULL};
    fexecve(fd, argv, environ);
}
static void script_by_cloexec_fd(void) {
    int fd = open("script", O_RDONLY | O_CLOEXEC);
    char *argv[] = {"script", "word", NULL};
    fexecve(fd, argv, environ);
    if (errno == ENOENT) _exit(31);
}
static void deleted_folder(void) {
    mkdir("gone", 0700);
    chdir("gone");
    rmdir("../gone");
    execl("/bin/sh", "sh", "-c", "exit 22", NULL);
}
static void no_arguments(void) {
    char *none[] = {NULL};
    execve(self, none, empty_env);
}
static void null_arguments(void) { syscall(SYS_execve, self, NULL, NULL); }
static void empty_name(void) {
    char *argv[] = {"", "args", NULL};
    execve(self, argv, some_env);
}
static void by_thread_body(void) { execl(self, "by a thread", "args", NULL); }
static void *run_exec(void *arg) {
    ((void (*)(void))arg)();
    _exit(98);
}
static void *spins(void *arg) {
    for (volatile long i = 0;; i++) {}
}
static void *waits(void *arg) {
    for (;;) pause();
}
static void by_thread(void) {
    pthread_t t;
    for (int i = 0; i < 4; i++) pthread_create(&t, NULL, i & 1 ? spins : waits, NULL);
    pthread_create(&t, NULL, run_exec, by_thread_body);
    for (;;) pause();
}
static void first_thread_gone_body(void) {
    usleep(10000);
    execl(self, "after the first thread", "args", NULL);
}
static void first_thread_gone(void) {
    pthread_t t;
    pthread_create(&t, NULL, run_exec, first_thread_gone_body);
    pthread_exit(NULL);
}
static void failing(const char *path) {
    char *argv[] = {(char *)path, NULL};
    execve(path, argv, empty_env);
    printf("%s: %s\n", *path ? path : "(empty)", strerror(errno));
}
static void fails(void) {
    failing("absent");
    failing("plain");
    failing("empty");
    failing("garbage");
    failing("no-interpreter");
    failing("loops");
    failing("/");
    failing("");
    failing("script/x");
    failing("dangling");
    failing("circle");
    char *named[] = {"no path", "args", NULL};
    int program = open(self, O_RDONLY | O_CLOEXEC); /* without AT_EMPTY_PATH it is no program */
    syscall(SYS_execveat, program, "", named, empty_env, 0);
    printf("no path: %s\n", strerror(errno));
    close(program);
    put("busy", "#!/bin/sh\n", 0700);
    int fd = open("busy", O_WRONLY);
    failing("busy");
    close(fd);
    char *long_name = malloc(5000);
    memset(long_name, 'x', 4999);
    long_name[4999] = 0;
    char *argv[] = {"x", NULL};
    printf("long: %d %s\n", execve(long_name, argv, empty_env), strerror(errno));
    printf("bad path: %ld %s\n", syscall(SYS_execve, 8, argv, empty_env), strerror(errno));
    printf("bad argv: %ld %s\n", syscall(SYS_execve, "/bin/true", 8, empty_env), strerror(errno));
    char *bad_arg[] = {"true", (char *)16, NULL};
    printf("bad argument: %d %s\n", execve("/bin/true", bad_arg, empty_env), strerror(errno));
    char *big = malloc(200000);
    memset(big, 'x', 199999);
    big[199999] = 0;
    char *too_long[] = {"true", big, NULL};
    printf("one long argument: %d %s\n", execve("/bin/true", too_long, empty_env), strerror(errno));
    printf("bad flags: %ld %s\n", syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, empty_env, 0x8000), strerror(errno));
    printf("bad flags, no link: %ld %s\n", syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, empty_env, 0x8000 | AT_SYMLINK_NOFOLLOW), strerror(errno));
    printf("bad folder: %ld %s\n", syscall(SYS_execveat, 77, "true", argv, empty_env, 0), strerror(errno));
    printf("link not followed: %ld %s\n", syscall(SYS_execveat, AT_FDCWD, "link", argv, empty_env, AT_SYMLINK_NOFOLLOW), strerror(errno));
    /* The program goes on: threads, handlers, descriptors are as before. */
    pthread_t t;
    void *r;
    pthread_create(&t, NULL, (void *(*)(void *))strdup, "alive");
    pthread_join(t, &r);
    printf("%s\n", (char *)r);
    fflush(stdout);
    _exit(23);
}
static void keeps(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGSEGV, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    raise(SIGUSR1); /* stays pending */
    nice(3);
    umask(0123);
    alarm(100);
    execl(self, "keeps", "kept", NULL);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc == 2 && strcmp(argv[1], "kept") == 0) {
        sigset_t blocked, pending;
        struct sigaction a, b;
        sigprocmask(SIG_BLOCK, NULL, &blocked);
        sigpending(&pending);
        sigaction(SIGSEGV, NULL, &a);
        sigaction(SIGUSR2, NULL, &b);
        printf("kept: blocked %d pending %d ignored %d %d nice %d umask %03o alarm %d\n", sigismember(&blocked, SIGUSR1),
               sigismember(&pending, SIGUSR1), a.sa_handler == SIG_IGN, b.sa_handler == SIG_IGN, nice(0), umask(0), alarm(0) > 50);
        return 24;
    }
    if (argc != 1 || getenv("PATH") == NULL) {
        printf("argc %d argv[0] \"%s\"", argc, argv[0] ? argv[0] : "(null)");
        for (char **e = environ; *e; e++)
            if (strncmp(*e, "PATH", 4) != 0 && e - environ < 4 && (e[0][0] == 'A' || e[0][0] == 'n' || !e[0][0])) printf(" [%s]", *e);
        printf("\n");
        int n = 0;
        for (int fd = 3; fd < 64; fd++) n += fcntl(fd, F_GETFD) >= 0;
        printf("%d descriptors, one thread %d\n", n, access("/proc/self/task", F_OK) == 0);
        return 20;
    }
    self[readlink("/proc/self/exe", self, sizeof self - 1)] = 0;
    char folder[] = "/tmp/execs-XXXXXX";
    mkdtemp(folder);
    chdir(folder);
    put("script", "#!/bin/sh -e\necho $# $1\nexit 30\n", 0755);
    put("plain", "text\n", 0644);
    put("empty", "", 0755);
    put("garbage", "\177ELF", 0755);
    put("no-interpreter", "#!/nonexistent\n", 0755);
    put("loops", "#!./loops\n", 0755);
    symlink("/absent", "dangling");
    symlink("circle", "circle");
    symlink("/bin/true", "link");
    in_child("descriptor", by_fd);
    in_child("O_PATH descriptor", by_path_fd);
    in_child("folder", by_folder);
    in_child("memory file", from_memory);
    in_child("script by descriptor", script_by_fd);
    in_child("script by closed descriptor", script_by_cloexec_fd);
    in_child("deleted folder", deleted_folder);
    in_child("no arguments", no_arguments);
    in_child("null arguments", null_arguments);
    in_child("empty name", empty_name);
    in_child("another thread", by_thread);
    in_child("first thread gone", first_thread_gone);
    in_child("failures", fails);
    in_child("kept over exec", keeps);
    chdir("/");
    char command[100];
    sprintf(command, "rm -rf %s", folder);
    return system(command);
}
