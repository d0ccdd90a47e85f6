#include <immintrin.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
int table[64], out[8], count, idle;
struct pollfd polled[2];
int indices[8] = {1, 9, 17, 25, 33, 41, 49, 57};
int half[8] = {-1, 0, -1, 0, -1, 0, -1, 0};
__attribute__((noipa)) void gather(int *to) {
    __m256i which = _mm256_loadu_si256((void *)indices);
    __m256i got = _mm256_i32gather_epi32(table, which, 4); /* all elements */
    _mm256_storeu_si256((void *)to, got);
}
__attribute__((noipa)) void gather_some(int *to) {
    __m256i which = _mm256_loadu_si256((void *)indices), mask = _mm256_loadu_si256((void *)half);
    __m256i got = _mm256_mask_i32gather_epi32(which, table, which, mask, 4); /* every other one */
    _mm256_storeu_si256((void *)to, got);
}
__attribute__((noipa)) void store_some(void) {
    __m256i mask = _mm256_loadu_si256((void *)half);
    _mm256_maskstore_epi32(out, mask, mask); /* masked store */
}
int main(void) {
    int ends[2], to[8];
    for (int i = 0; i < 64; i++) table[i] = i;
    pipe(ends);
    write(ends[1], "abc", 3);
    gather(to);
    gather_some(to);
    store_some();
    store_some();
    ioctl(ends[0], FIONREAD, &count); /* asks */
    polled[0].fd = -1;
    polled[1].fd = ends[0];
    polled[1].events = POLLIN;
    poll(polled, 2, 0); /* polls */
    return count + polled[1].revents + to[2];
}
