// Ranges, events and blocks that the program names.
#include <interpose/datagrind.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

volatile char buf[64];
char pool[4096];
char *aligned, *zeroed, *grown, *moved, *small;

int main(void) {
    char text[101];
    memset(text, 'x', 100);
    text[100] = 0;
    DATAGRIND_TRACK_RANGE((void *)buf, 64, "char[64]", "my range");
    DATAGRIND_START_EVENT("one");
    buf[3] = 1;
    DATAGRIND_END_EVENT("one");
    DATAGRIND_UNTRACK_RANGE((void *)buf, 64);
    DATAGRIND_START_EVENT(text);
    DATAGRIND_START_EVENT((char *)16);
    // A string that ends where memory does.
    char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    memset(page + 4094, 'y', 2);
    DATAGRIND_START_EVENT(page + 4094);
    INTERPOSE_MALLOCLIKE_BLOCK(pool + 16, 100, 0, 0);
    INTERPOSE_RESIZEINPLACE_BLOCK(pool + 16, 100, 200, 0);
    INTERPOSE_FREELIKE_BLOCK(pool + 16, 0);
    // What only the engine may ask is no request of the program's.
    INTERPOSE_REQUEST(0, 0x44470201, 0, 0, 0, 0, 0);
    INTERPOSE_REQUEST(0, 0x44470202, 0, 4096, 4096, 0, 0);
    INTERPOSE_REQUEST(0, 0x44470203, buf, 64, 64, 0, 0);

    DATAGRIND_START_EVENT("heap");
    small = malloc(10);
    zeroed = calloc(3, 5);
    aligned = aligned_alloc(256, 512);
    grown = malloc(20);
    moved = realloc(grown, 3000);
    free(small);
    free(zeroed);
    free(aligned);
    free(moved);
    free(0);
    DATAGRIND_END_EVENT("heap");
    return 0;
}
