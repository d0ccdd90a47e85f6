/* --trace-malloc=yes: a line for each call of the malloc family, when its answer is known. */
#include "heap/heap.h"
#include "runtime/seam.h"

static const char *function(char *out, size_t size, u64 name, const char *otherwise) {
    long n = name ? rt_strncpy_from(out, name, size - 1) : 0;
    if (n <= 0) return otherwise;
    out[n] = 0;
    return out;
}

void heap_show_call(struct tstate *ts, u64 code, const u64 a[5], u64 result) {
    char name[100];
    switch (code) {
    case IP_HR_MALLOC:
        rt_say(ts, IP_SAY_DEBUG, "%s(%lu) = 0x%lX", function(name, sizeof name, a[2], "malloc"), a[0], result);
        break;
    case IP_HR_CALLOC: rt_say(ts, IP_SAY_DEBUG, "calloc(%lu,%lu) = 0x%lX", a[0], a[1], result); break;
    case IP_HR_REALLOC: rt_say(ts, IP_SAY_DEBUG, "realloc(0x%lX,%lu) = 0x%lX", a[0], a[1], result); break;
    case IP_HR_REALLOCARRAY:
        rt_say(ts, IP_SAY_DEBUG, "reallocarray(0x%lX,%lu,%lu) = 0x%lX", a[0], a[1], a[2], result);
        break;
    case IP_HR_MEMALIGN:
        rt_say(ts, IP_SAY_DEBUG, "%s(al %lu, size %lu) = 0x%lX", function(name, sizeof name, a[4], "memalign"), a[0],
               a[1], result);
        break;
    case IP_HR_FREE:
        rt_say(ts, IP_SAY_DEBUG, "%s(0x%lX)",
               a[1] == IP_AK_NEW         ? "_ZdlPv"
               : a[1] == IP_AK_NEW_ARRAY ? "_ZdaPv"
                                         : "free",
               a[0]);
        break;
    case IP_HR_USABLE: rt_say(ts, IP_SAY_DEBUG, "malloc_usable_size(0x%lX) = %lu", a[0], result); break;
    default: break;
    }
}
