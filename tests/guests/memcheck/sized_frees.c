/* C23's free_sized and free_aligned_sized, which this program brings itself: with the size and alignment that the block was made
 * with, and with others.
 * @options: --leak-check=full */
#include <stdlib.h>

__attribute__((noinline)) void free_sized(void *p, size_t size) {
    (void)size;
    free(p);
}

/* Its caller says how the block was made. */
__attribute__((noinline)) void free_aligned_sized(void *p, size_t alignment, size_t size) {
    (void)alignment;
    (void)size;
    free(p);
}

int main(void) {
    free_sized(malloc(40), 40);
    free_sized(malloc(40), 41);
    free_aligned_sized(aligned_alloc(64, 128), 64, 128);
    free_aligned_sized(aligned_alloc(8, 40), 8, 40);
    free_aligned_sized(malloc(40), 16, 40);
    free_aligned_sized(aligned_alloc(64, 128), 32, 128);
    free_aligned_sized(aligned_alloc(64, 128), 0, 128);
    free_aligned_sized(aligned_alloc(64, 128), 48, 128);
    free_aligned_sized(malloc(40), 64, 40);
    free_aligned_sized(NULL, 3, 1);
    return 0;
}
