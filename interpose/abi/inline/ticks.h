/* The clock and the CPU number by which both sides decide how long to stay awake for each other.  Not by rdtscp:
 * CPU models of virtual machines (qemu64, kvm64) lack it.  The number is the limit of a segment that the kernel
 * keeps for this on each CPU, as in the vDSO's getcpu; 0 where there is none. */
#ifndef IP_TICKS_H
#define IP_TICKS_H
#include <stdint.h>

#define IP_CPU_SELECTOR 0x7bul /* __CPUNODE_SEG of asm/segment.h */

static inline uint64_t ip_cpu_number(void) {
    uint64_t n = 0;
    __asm__ volatile("lsl %1, %0" : "+r"(n) : "r"(IP_CPU_SELECTOR) : "cc");
    return n;
}

static inline uint64_t ip_ticks(void) {
    uint32_t lo, hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (uint64_t)hi << 32 | lo;
}
#endif
