#include <immintrin.h>
int table[64];
int indices[16] = {1, 9, 17, 25, 33, 41, 49, 57, 2, 3, 4, 5, 6, 7, 8, 10};
__attribute__((noipa)) void scatter(int mask) {
    __m512i which = _mm512_loadu_si512((void *)indices);
    _mm512_mask_i32scatter_epi32(table, mask, which, which, 4); /* scatters */
}
__attribute__((noipa)) int gather(int mask) {
    __m512i which = _mm512_loadu_si512((void *)indices);
    return _mm512_reduce_add_epi32(_mm512_mask_i32gather_epi32(which, mask, which, table, 4)); /* gathers */
}
int main(void) {
    scatter(0xfff0);
    scatter(0x000f);
    return gather(0xfffe) + gather(1) & 127;
}
