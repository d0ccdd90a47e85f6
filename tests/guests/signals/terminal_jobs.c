/* Job control on a terminal of its own: SIGTTIN, SIGTTOU, SIGTSTP by ^Z, SIGINT by ^C, SIGHUP at the end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int note;
static void report(const char *text) { dprintf(note, "%s\n", text); }
static void on_signal(int sig) { dprintf(note, "handler %d\n", sig); }

static void show(const char *what, pid_t pid) {
    int status = 0;
    waitpid(pid, &status, WUNTRACED);
    if (WIFSTOPPED(status)) dprintf(note, "%s: stopped by %d\n", what, WSTOPSIG(status));
    else if (WIFSIGNALED(status)) dprintf(note, "%s: killed by %d\n", what, WTERMSIG(status));
    else dprintf(note, "%s: exit %d\n", what, WEXITSTATUS(status));
}

static void session(const char *tty) {
    setsid();
    int t = open(tty, O_RDWR);
    ioctl(t, TIOCSCTTY, 0);
    struct termios tio;
    tcgetattr(t, &tio);
    tio.c_lflag |= TOSTOP | ISIG;
    tcsetattr(t, TCSANOW, &tio);
    signal(SIGTTOU, SIG_IGN);

    pid_t p = fork();
    if (p == 0) {
        char c;
        setpgid(0, 0);
        signal(SIGTTOU, SIG_DFL);
        long r = read(t, &c, 1); /* in the background */
        dprintf(note, "read %ld %c\n", r, r > 0 ? c : '-');
        _exit(4);
    }
    setpgid(p, p);
    show("background reader", p);
    tcsetpgrp(t, p);
    kill(-p, SIGCONT);
    report("send a line");
    show("foreground reader", p);
    tcsetpgrp(t, getpgrp());

    p = fork();
    if (p == 0) {
        setpgid(0, 0);
        signal(SIGTTOU, SIG_DFL);
        write(t, "w", 1);
        _exit(5);
    }
    setpgid(p, p);
    show("background writer", p);
    tcsetpgrp(t, p);
    kill(-p, SIGCONT);
    show("foreground writer", p);
    tcsetpgrp(t, getpgrp());

    p = fork();
    if (p == 0) {
        setpgid(0, 0);
        tcsetpgrp(t, getpid());
        signal(SIGTTOU, SIG_DFL);
        signal(SIGCONT, on_signal);
        report("send ^Z");
        pause();
        report("went on");
        signal(SIGINT, on_signal);
        report("send ^C");
        pause();
        signal(SIGINT, SIG_DFL);
        report("send ^C");
        for (;;) pause();
    }
    setpgid(p, p);
    show("suspended", p);
    kill(-p, SIGCONT);
    show("interrupted", p);
    tcsetpgrp(t, getpgrp());
    signal(SIGHUP, on_signal);
    report("hang up");
    pause();
    _exit(0);
}

int main(void) {
    int p[2];
    pipe(p);
    int m = posix_openpt(O_RDWR | O_NOCTTY);
    if (m < 0 || grantpt(m) || unlockpt(m)) return 0;
    const char *tty = ptsname(m);
    pid_t child = fork();
    if (child == 0) {
        close(p[0]);
        close(m);
        note = p[1];
        session(tty);
    }
    close(p[1]);
    FILE *f = fdopen(p[0], "r");
    char line[200];
    while (fgets(line, sizeof line, f)) {
        fputs(line, stdout);
        if (!strcmp(line, "send a line\n")) write(m, "q\n", 2);
        if (!strcmp(line, "send ^Z\n")) usleep(50000), write(m, "\032", 1);
        if (!strcmp(line, "send ^C\n")) usleep(50000), write(m, "\003", 1);
        if (!strcmp(line, "hang up\n")) usleep(50000), close(m);
    }
    int status;
    waitpid(child, &status, 0);
    printf("session ended %x\n", status);
    return 0;
}
