/* Code chosen by CPU features runs: function multiversioning, AVX2 and AVX-512 loops where there are any. */
#include <stdio.h>
#include <string.h>
__attribute__((target_clones("default", "avx2", "arch=x86-64-v4"))) static float dot(const float *a, const float *b, int n) {
    float s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
__attribute__((target_clones("default", "avx2", "arch=x86-64-v4"))) static int count(const unsigned char *p, int n) {
    int c = 0;
    for (int i = 0; i < n; i++) c += p[i] > 100;
    return c;
}
int main(void) {
    static float a[1000], b[1000];
    static unsigned char p[5000];
    for (int i = 0; i < 1000; i++) a[i] = (float)i, b[i] = 1.0f / (float)(i + 1);
    for (int i = 0; i < 5000; i++) p[i] = (unsigned char)(i * 7);
    printf("%a %d\n", dot(a, b, 1000), count(p, 5000));
    printf("avx2 %d avx512f %d\n", !!__builtin_cpu_supports("avx2"), !!__builtin_cpu_supports("avx512f"));
    return 0;
}
