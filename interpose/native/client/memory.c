/* Memory of our own and the one lock, without a C library. */
#include "native/client/native.h"

#include <linux/futex.h>
#include <linux/mman.h>
#include <sys/syscall.h>

void *ip_native_map(size_t size, int protection, int flags) {
    long got = sys6(SYS_mmap, 0, (long)size, protection, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got < 0 && got > -4096) return NULL;
    ip_native_mapped((void *)got, size);
    return (void *)got;
}

static struct {
    void *start;
    size_t size;
} ours[4096];
static uint32_t count;

void ip_native_mapped(void *start, size_t size) {
    if (count == sizeof ours / sizeof ours[0]) return; /* this much stays when the engine leaves */
    ours[count].start = start;
    ours[count++].size = size;
}

void ip_native_unmap_all(void) {
    while (count) {
        count--;
        sys2(SYS_munmap, (long)ours[count].start, (long)ours[count].size);
    }
}

/* Recursive by thread: what the agent calls may come back. */
static uint32_t owner, depth;

void ip_native_lock(void) {
    uint32_t self = (uint32_t)sys0(SYS_gettid);
    if (__atomic_load_n(&owner, __ATOMIC_RELAXED) == self) {
        depth++;
        return;
    }
    for (;;) {
        uint32_t free = 0;
        if (__atomic_compare_exchange_n(&owner, &free, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) break;
        sys4(SYS_futex, (long)&owner, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, (long)free, 0);
    }
    depth = 1;
}

void ip_native_unlock(void) {
    if (--depth) return;
    __atomic_store_n(&owner, 0, __ATOMIC_RELEASE);
    sys3(SYS_futex, (long)&owner, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}

void ip_native_take_over(void) { owner = (uint32_t)sys0(SYS_gettid); }
