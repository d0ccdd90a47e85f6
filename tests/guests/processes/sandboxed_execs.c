/* modes: trace-children children-checked */
/* flags: -static */
/* Programs executed where nothing of the file system outside can be reached: in another root, on which there is this
 * program alone, and under Landlock. Each goes on from itself, so that the second stands on the first. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/sandboxed-XXXXXX", copy[64];

static void write_file(const char *name, const char *text) {
    int fd = open(name, O_WRONLY);
    if (fd >= 0 && write(fd, text, strlen(text)) < 0) perror(name);
    close(fd);
}

/* Root may change its root; others may in a user namespace, where there are any. */
static int other_root(void) {
    char map[32];
    snprintf(map, sizeof map, "0 %d 1", (int)geteuid());
    if (chroot(folder) == 0) return chdir("/");
    if (unshare(CLONE_NEWUSER)) return -1;
    write_file("/proc/self/uid_map", map);
    return chroot(folder) || chdir("/") ? -1 : 0;
}

/* From here on files are read and executed in this folder only. */
static int landlock(const char *where) {
    struct landlock_ruleset_attr rules = {LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE};
    struct landlock_path_beneath_attr beneath = {rules.handled_access_fs, open(where, O_PATH | O_CLOEXEC)};
    int fd = (int)syscall(444, &rules, sizeof rules, 0);
    if (fd < 0 || syscall(445, fd, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0)) return -1;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int r = (int)syscall(446, fd, 0);
    close(fd);
    return r;
}

static void expect(const char *what, int enter, int vforks) {
    pid_t child = fork();
    if (child == 0) {
        if (enter && other_root()) _exit(77);
        if (!enter && landlock(folder)) _exit(77);
        const char *name = enter ? "/program" : copy;
        char *argv[] = {(char *)name, "inside", NULL}, *environment[] = {NULL};
        pid_t inner = vforks ? vfork() : fork();
        if (inner == 0) {
            execve(name, argv, environment);
            _exit(errno);
        }
        int status;
        waitpid(inner, &status, 0);
        _exit(WIFSIGNALED(status) ? 99 : WEXITSTATUS(status));
    }
    int status;
    waitpid(child, &status, 0);
    status = WEXITSTATUS(status);
    if (status == 77) /* of this kernel, or for this user */
        printf("%s: there is none\n", what);
    else
        printf("%s: %d\n", what, status);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 1) {
        char *blocks[10];
        for (int i = 0; i < 10; i++) memset(blocks[i] = malloc(100), i, 100);
        for (int i = 0; i < 10; i++) free(blocks[i]);
        printf("%s: %d blocks\n", argv[1], 10);
        return 5;
    }
    if (!mkdtemp(folder)) return 1;
    chmod(folder, 0755);
    snprintf(copy, sizeof copy, "%s/program", folder);
    int from = open("/proc/self/exe", O_RDONLY), to = open(copy, O_CREAT | O_WRONLY, 0755);
    struct stat st;
    fstat(from, &st);
    if (sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size) return 2;
    close(from), close(to);
    for (int vforks = 0; vforks < 2; vforks++) {
        expect("another root", 1, vforks);
        expect("Landlock", 0, vforks);
    }
    unlink(copy);
    rmdir(folder);
    return 0;
}
