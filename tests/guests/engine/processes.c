/* fork, vfork, exec and its failures, posix_spawn, popen, system, wait statuses, SIGPIPE. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static void say(const char *what, int st) {
    printf("%s: exited %d status %d signalled %d signal %d\n", what, WIFEXITED(st), WIFEXITED(st) ? WEXITSTATUS(st) : -1,
           WIFSIGNALED(st), WIFSIGNALED(st) ? WTERMSIG(st) : -1);
}
int main(int argc, char **argv) {
    int st;
    char line[256];
    setvbuf(stdout, 0, _IOLBF, 0);
    if (argc > 1) {
        printf("child %s argc %d env %s\n", argv[1], argc, getenv("ENGINE_TEST") ? getenv("ENGINE_TEST") : "-");
        return atoi(argv[1]);
    }
    pid_t p = fork();
    if (!p) _exit(17);
    waitpid(p, &st, 0);
    say("fork", st);
    p = fork();
    if (!p) {
        execl("/proc/self/exe", argv[0], "21", "x", (char *)0);
        _exit(99);
    }
    waitpid(p, &st, 0);
    say("exec self", st);
    p = vfork();
    if (!p) {
        execl("/bin/sh", "sh", "-c", "exit 5", (char *)0);
        _exit(99);
    }
    waitpid(p, &st, 0);
    say("vfork exec", st);
    p = vfork();
    if (!p) _exit(8);
    waitpid(p, &st, 0);
    say("vfork exit", st);
    p = fork();
    if (!p) {
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
    }
    waitpid(p, &st, 0);
    say("killed", st);
    p = fork();
    if (!p) abort();
    waitpid(p, &st, 0);
    say("abort", st & ~0x80);
    printf("exec nothing: %d %s\n", execl("/no/such/file", "x", (char *)0), strerror(errno));
    printf("exec directory: %d %s\n", execl("/tmp", "x", (char *)0), strerror(errno));
    printf("exec plain: %d %s\n", execl("/etc/passwd", "x", (char *)0), strerror(errno));
    setenv("ENGINE_TEST", "inherited", 1);
    char *args[] = {argv[0], "33", 0};
    int spawned = posix_spawn(&p, "/proc/self/exe", 0, 0, args, environ);
    waitpid(p, &st, 0);
    printf("spawn %d\n", spawned);
    say("spawn", st);
    printf("spawn nothing %s\n", strerror(posix_spawn(&p, "/no/such", 0, 0, args, environ)));
    FILE *f = popen("echo from popen; exit 4", "r");
    while (fgets(line, sizeof line, f)) fputs(line, stdout);
    say("popen", pclose(f));
    say("system", system("exit 12"));
    int fd[2];
    if (pipe(fd)) return 1;
    p = fork();
    if (!p) {
        close(fd[0]);
        if (write(fd[1], "x", 1) < 0) _exit(1);
        _exit(2);
    }
    close(fd[0]);
    close(fd[1]);
    waitpid(p, &st, 0);
    if (pipe(fd)) return 1;
    close(fd[0]);
    signal(SIGPIPE, SIG_IGN);
    printf("write to nobody: %zd %s\n", write(fd[1], "x", 1), strerror(errno));
    p = fork();
    if (!p) {
        signal(SIGPIPE, SIG_DFL);
        if (write(fd[1], "x", 1) < 0) _exit(1);
        _exit(2);
    }
    waitpid(p, &st, 0);
    say("sigpipe", st);
    return 0;
}
