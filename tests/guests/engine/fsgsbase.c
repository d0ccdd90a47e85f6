/* The fsgsbase instructions, as AT_HWCAP2 allows them: both bases, 32 and 64 bits, in a thread, across a signal. */
// flags: -mfsgsbase -pthread
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread int local = 5;
static uint64_t data[4] = {11, 22, 33, 44};

static uint64_t rdfs(void) { uint64_t v; __asm__ volatile("rdfsbase %0" : "=r"(v)); return v; }
static uint64_t rdgs(void) { uint64_t v; __asm__ volatile("rdgsbase %0" : "=r"(v)); return v; }
static uint32_t rdgs32(void) { uint32_t v; __asm__ volatile("rdgsbase %0" : "=r"(v)); return v; }
static void wrfs(uint64_t v) { __asm__ volatile("wrfsbase %0" : : "r"(v) : "memory"); }
static void wrgs(uint64_t v) { __asm__ volatile("wrgsbase %0" : : "r"(v) : "memory"); }
static void wrgs32(uint32_t v) { __asm__ volatile("wrgsbase %0" : : "r"(v) : "memory"); }

static void handler(int sig) {
    uint64_t v;
    __asm__ volatile("mov %%gs:8, %0" : "=r"(v));
    printf("signal %d: %lu %d\n", sig, v, local);
}

static void *work(void *unused) {
    uint64_t asked = 0, v;
    syscall(SYS_arch_prctl, ARCH_GET_FS, &asked);
    printf("thread: fs %d, gs %d\n", asked == rdfs(), rdgs() == (uint64_t)data);
    wrgs((uint64_t)(data + 1));
    __asm__ volatile("mov %%gs:0, %0" : "=r"(v));
    printf("thread: %lu %d\n", v, local++);
    return unused;
}

int main(void) {
    printf("offered %lu\n", getauxval(AT_HWCAP2) >> 1 & 1);
    if (!(getauxval(AT_HWCAP2) & 2))
        return 0;
    uint64_t fs = rdfs(), asked = 0, v;
    syscall(SYS_arch_prctl, ARCH_GET_FS, &asked);
    printf("fs %d\n", fs == asked);
    wrfs((uint64_t)data);
    __asm__ volatile("mov %%fs:16, %0" : "=r"(v));
    wrfs(fs);
    printf("moved %lu, back %d\n", v, local);
    wrgs((uint64_t)data);
    syscall(SYS_arch_prctl, ARCH_GET_GS, &asked);
    printf("gs %d %d\n", asked == (uint64_t)data, rdgs() == asked);
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    __asm__ volatile("mov %%gs:24, %0" : "=r"(v));
    printf("own %lu %d\n", v, local);
    wrgs(0x123456789abc);
    printf("32 bits: %x\n", rdgs32());
    wrgs32(0x89abcdef);
    printf("zero-extended: %lx\n", rdgs());
    syscall(SYS_arch_prctl, ARCH_SET_GS, 0x4000);
    printf("by the kernel: %lx\n", rdgs());
    return 0;
}
