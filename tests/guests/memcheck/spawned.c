/* posix_spawn with actions and attributes. */
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

extern char **environ;

int main(void) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *argv[] = {"true", NULL};
    pid_t child;
    int status = 1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (posix_spawnp(&child, "true", &actions, &attributes, argv, environ))
        return 2;
    waitpid(child, &status, 0);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    char *p = malloc(4);
    p[4] = (char)status;
    free(p);
    return 0;
}
