/* One object mapped writable here and executable there: a memory file, System V memory, a view made later. */
#include "code.h"
#include <sys/shm.h>

static long use(uint8_t *w, uint8_t *x, int times) {
    long sum = 0;
    for (int i = 0; i < times; i++) {
        put(w + i % 4 * 512, i);
        sum += ((fn)(x + i % 4 * 512))();
        sum += ((fn)(x + i % 4 * 512))();
    }
    return sum;
}

int main(void) {
    int fd = memfd_create("views", 0);
    require(ftruncate(fd, 8192) == 0, "ftruncate");
    uint8_t *w = map_file(fd, 8192, RW, MAP_SHARED), *x = map_file(fd, 8192, RX, MAP_SHARED);
    printf("memory file %ld %ld\n", use(w, x, 3000), use(w + 4096, x + 4096, 3000));
    uint8_t *late = map_file(fd, 8192, RW, MAP_SHARED);
    printf("a later view %ld\n", use(late, x, 3000));
    munmap(late, 8192);
    printf("two in turn %ld\n", use(w, x, 10));
    int id = shmget(IPC_PRIVATE, 4096, 0700 | IPC_CREAT);
    require(id >= 0, "shmget");
    uint8_t *sw = shmat(id, NULL, 0), *sx = shmat(id, NULL, SHM_EXEC | SHM_RDONLY);
    shmctl(id, IPC_RMID, NULL);
    require(sw != (void *)-1 && sx != (void *)-1, "shmat");
    printf("system v %ld\n", use(sw, sx, 3000));
    return 0;
}
