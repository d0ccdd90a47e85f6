/* posix_spawn with every attribute and file action; popen and system. */
// errors: yes
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int status_of(pid_t pid) {
    int st = -1;
    if (waitpid(pid, &st, 0) != pid) return -errno;
    return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}

static void report(const char *out) {
    sigset_t blocked, none;
    struct sigaction act;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    FILE *f = out ? fopen(out, "a") : stdout;
    sigaction(SIGUSR1, NULL, &act);
    struct sigaction act2;
    sigaction(SIGUSR2, NULL, &act2);
    fprintf(f, "blocked USR1 %d USR2 %d; ignored USR1 %d USR2 %d; leader %d session %d; policy %d; uid %d %d\n",
            sigismember(&blocked, SIGUSR1), sigismember(&blocked, SIGUSR2), act.sa_handler == SIG_IGN,
            act2.sa_handler == SIG_IGN, getpgrp() == getpid(), getsid(0) == getpid(), sched_getscheduler(0), getuid() == geteuid(), getgid() == getegid());
    char cwd[4096];
    fprintf(f, "folder is the root %d; 5 open %d; 6 open %d\n", strcmp(getcwd(cwd, sizeof cwd), "/") == 0, fcntl(5, F_GETFD) >= 0, fcntl(6, F_GETFD) >= 0);
    fflush(f);
}

static void spawn(const char *name, const char *path, char **argv, posix_spawn_file_actions_t *fa, posix_spawnattr_t *at) {
    pid_t pid;
    int r = posix_spawn(&pid, path, fa, at, argv, environ);
    if (r)
        printf("%s: %s\n", name, strerror(r));
    else
        printf("%s: %d\n", name, status_of(pid));
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 1) {
        report(NULL);
        return 7;
    }
    char self[4096];
    self[readlink("/proc/self/exe", self, sizeof self - 1)] = 0;
    char *again[] = {self, "child", NULL};
    posix_spawnattr_t at;
    posix_spawn_file_actions_t fa;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, NULL);

    spawn("plain", self, again, NULL, NULL);
    posix_spawnattr_init(&at);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_RESETIDS);
    sigset_t usr2;
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    posix_spawnattr_setsigmask(&at, &usr2);
    posix_spawnattr_setsigdefault(&at, &set);
    spawn("signals", self, again, NULL, &at);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&at, 0);
    spawn("group", self, again, NULL, &at);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSID | POSIX_SPAWN_USEVFORK);
    spawn("session", self, again, NULL, &at);
    struct sched_param par = {0};
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSCHEDULER | POSIX_SPAWN_SETSCHEDPARAM);
    posix_spawnattr_setschedpolicy(&at, SCHED_BATCH);
    posix_spawnattr_setschedparam(&at, &par);
    spawn("policy", self, again, NULL, &at);
    posix_spawnattr_destroy(&at);

    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 5, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&fa, 5, 6);
    posix_spawn_file_actions_addclose(&fa, 5);
    posix_spawn_file_actions_addchdir_np(&fa, "/");
    spawn("files", self, again, &fa, NULL);
    posix_spawn_file_actions_addclosefrom_np(&fa, 3);
    spawn("closefrom", self, again, &fa, NULL);
    posix_spawn_file_actions_addopen(&fa, 5, "/absent/file", O_RDONLY, 0);
    spawn("bad open", self, again, &fa, NULL);
    posix_spawn_file_actions_destroy(&fa);
    spawn("absent", "/absent", again, NULL, NULL);
    spawn("no program", "/etc/passwd", again, NULL, NULL);
    pid_t pid;
    char *sh[] = {"sh", "-c", "exit 9", NULL};
    int r = posix_spawnp(&pid, "sh", NULL, NULL, sh, environ);
    printf("path: %d %d\n", r, r ? -1 : status_of(pid));
    r = posix_spawnp(&pid, "no-such-program", NULL, NULL, sh, environ);
    printf("path: %s\n", strerror(r));

    char line[100];
    FILE *in = popen("echo out; exit 4", "r");
    printf("popen %s", fgets(line, sizeof line, in));
    printf("pclose %d\n", WEXITSTATUS(pclose(in)));
    FILE *out = popen("cat; exit 5", "w");
    fputs("to cat\n", out);
    printf("pclose %d\n", WEXITSTATUS(pclose(out)));
    FILE *many[4];
    for (int i = 0; i < 4; i++) many[i] = popen("read x; echo $x", "w");
    for (int i = 0; i < 4; i++) {
        fprintf(many[i], "line %d\n", i);
        printf("pclose %d\n", pclose(many[i]));
    }
    printf("system %d\n", WEXITSTATUS(system("exit 6")));
    printf("system signal %d\n", WTERMSIG(system("kill -TERM $$")));
    printf("system(NULL) %d\n", system(NULL) != 0);
    signal(SIGCHLD, SIG_IGN);
    printf("SIGCHLD ignored: system %d %d\n", system("exit 3"), errno == ECHILD);
    return 0;
}
