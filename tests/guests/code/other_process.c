/* Another process writes to code that this one executes: through its own mapping, and through the file. */
#include "code.h"
#include <fcntl.h>
#include <sys/wait.h>

static int to_child[2], to_parent[2];

static int ask(int value) {
    int done;
    require(write(to_child[1], &value, sizeof value) == sizeof value, "write");
    require(read(to_parent[0], &done, sizeof done) == sizeof done, "read");
    return done;
}

/* In the child: every number that comes becomes code. */
static void serve(int fd, uint8_t *view) {
    int value;
    close(to_child[1]);
    while (read(to_child[0], &value, sizeof value) == sizeof value) {
        uint8_t code[6];
        put(code, value);
        if (view)
            memcpy(view, code, sizeof code);
        else if (pwrite(fd, code, sizeof code, 0) != sizeof code)
            _exit(2);
        if (write(to_parent[1], &value, sizeof value) != sizeof value) _exit(3);
    }
    _exit(0);
}

static void compare(const char *name, int fd, uint8_t *view, uint8_t *code, int times) {
    pid_t child;
    require(pipe(to_child) == 0 && pipe(to_parent) == 0, "pipe");
    fflush(stdout);
    child = fork();
    if (child == 0) serve(fd, view);
    close(to_child[0]);
    close(to_parent[1]);
    int right = 0, again = 0;
    for (int i = 1; i <= times; i++) {
        ask(i);
        right += ((fn)code)() == i;
        again += ((fn)code)() == i;
    }
    close(to_child[1]);
    close(to_parent[0]);
    int status;
    waitpid(child, &status, 0);
    printf("%s: %d %d of %d, writer %d\n", name, right, again, times, status);
}

int main(void) {
    int fd = memfd_create("code", 0);
    require(ftruncate(fd, 4096) == 0, "ftruncate");
    uint8_t *view = map_file(fd, 4096, RW, MAP_SHARED);
    put(view, 0);
    compare("read and execute", fd, view, map_file(fd, 4096, RX, MAP_SHARED), 60);
    compare("all three", fd, view, map_file(fd, 4096, RWX, MAP_SHARED), 60);
    compare("written as a file", fd, NULL, map_file(fd, 4096, RX, MAP_SHARED), 60);
    /* Private pages show the file until the first write to them. */
    compare("private", fd, view, map_file(fd, 4096, RX, MAP_PRIVATE), 60);
    uint8_t *shared = mmap(NULL, 4096, RWX, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    put(shared, 0);
    compare("anonymous", -1, shared, shared, 60);
    uint8_t *late = map_file(fd, 4096, RW, MAP_SHARED);
    put(late, 0);
    require(mprotect(late, 4096, RX) == 0, "mprotect");
    compare("executable later", fd, view, late, 60);
    return 0;
}
