/* Threads that all branch much, while one of them or another drops all translations again and again: each comes to
 * the same sums. */
// flags: -pthread
// modes: default evict evict-often tiny-cache no-chaining tracking
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define THREADS 6
#define STEPS 600

/* Small blocks with two ways out each; which one is taken depends on all that went before. */
static uint64_t walk(uint64_t x) {
    uint64_t sum = 0;
    for (int i = 0; i < STEPS; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        uint32_t r = (uint32_t)(x >> 40);
        if (r & 1) sum += r; else sum ^= r;
        if (r & 2) sum = sum << 1 | sum >> 63; else sum += 3;
        if (r & 4) { if (r & 8) sum -= x; else sum ^= x; } else if (r & 16) sum += 7;
        switch (r >> 5 & 7) {
        case 0: sum += 1; break;
        case 1: sum ^= 2; break;
        case 2: sum -= 3; break;
        case 3: sum *= 5; break;
        case 4: sum ^= sum >> 7; break;
        case 5: if (sum & 1) sum++; else sum--; break;
        default: sum += r; break;
        }
    }
    return sum;
}

static void *run(void *arg) {
    static const int seeds[] = {1, 2, 3};
    uint64_t *out = arg;
    for (int i = 0; i < 3; i++) *out = *out * 31 + walk((uint64_t)seeds[i]);
    return NULL;
}

int main(void) {
    pthread_t t[THREADS];
    uint64_t sums[THREADS] = {0};
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, run, &sums[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < THREADS; i++) printf("%llx\n", (unsigned long long)sums[i]);
    return 0;
}
