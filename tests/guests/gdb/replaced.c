/* Errors in functions that memcheck replaces, which push registers and call others. */
#include <stdlib.h>
#include <string.h>

static void fill(char *block) { memset(block, 1, 64); }

static int copy(const char *block) {
    char room[64];
    memcpy(room, block, sizeof room);
    return room[3];
}

int main(void) {
    char *block = malloc(4);
    char here[8];
    strcpy(here, "bound");
    fill(block);
    copy(block);
    free(block + 1);
    return 0;
}
