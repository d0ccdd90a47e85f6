/* To attach System V shared memory for execution takes the permission to execute it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>
// modes: none memcheck

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 1; /* root may */
    for (int mode = 0600; mode <= 0700; mode += 0100) {
        int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | mode);
        char *at = shmat(id, NULL, SHM_EXEC);
        printf("%o: %d errno %d\n", (unsigned)mode, at != (char *)-1, at == (char *)-1 ? errno : 0);
        if (at != (char *)-1) {
            memcpy(at, "\xb8\x2a\x00\x00\x00\xc3", 6); /* mov $42, %eax; ret */
            printf("%d\n", ((int (*)(void))(void *)at)());
            shmdt(at);
        }
        at = shmat(id, NULL, SHM_RDONLY | SHM_EXEC);
        printf("%d\n", at != (char *)-1);
        shmctl(id, IPC_RMID, NULL);
    }
    return 0;
}
