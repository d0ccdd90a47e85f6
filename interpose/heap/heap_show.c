/* --trace-malloc=yes: a line for each call of the malloc family, when its answer is known; of one without before its
 * errors. */
#include "heap/heap.h"
#include "runtime/seam.h"

static const char *function(char *out, size_t size, u64 name, const char *otherwise) {
    long n = name ? rt_strncpy_from(out, name, size - 1) : 0;
    if (n <= 0) return otherwise;
    out[n] = 0;
    return out;
}

/* operator new's: its symbol stands behind the name that errors give it. */
static u64 symbol(u64 name, u64 kind) {
    char text[100];
    long n = kind == IP_AK_NEW || kind == IP_AK_NEW_ARRAY ? rt_strncpy_from(text, name, sizeof text - 1) : -1;
    return n < 0 ? name : name + (u64)n + 1;
}

void heap_show_call(struct tstate *ts, u64 code, const u64 a[5], u64 result) {
    char name[100];
    switch (code) {
    case IP_HR_MALLOC:
        rt_say(ts, IP_SAY_DEBUG, "%s(%lu) = 0x%lX", function(name, sizeof name, symbol(a[2], a[1]), "malloc"), a[0],
               result);
        break;
    case IP_HR_CALLOC: rt_say(ts, IP_SAY_DEBUG, "calloc(%lu,%lu) = 0x%lX", a[0], a[1], result); break;
    case IP_HR_REALLOC: rt_say(ts, IP_SAY_DEBUG, "realloc(0x%lX,%lu) = 0x%lX", a[0], a[1], result); break;
    case IP_HR_REALLOCARRAY:
        rt_say(ts, IP_SAY_DEBUG, "reallocarray(0x%lX,%lu,%lu) = 0x%lX", a[0], a[1], a[2], result);
        break;
    case IP_HR_MEMALIGN:
        if (result == IP_HR_REFUSED) break; /* a check of its arguments is all that was done */
        if (a[2] == IP_AK_MALLOC)
            rt_say(ts, IP_SAY_DEBUG, "%s(al %lu, size %lu) = 0x%lX", function(name, sizeof name, a[4], "memalign"),
                   a[0], a[1], result);
        else
            rt_say(ts, IP_SAY_DEBUG, "%s(size %lu, al %lu) = 0x%lX",
                   function(name, sizeof name, symbol(a[4], a[2]), "new"), a[1], a[0], result);
        break;
    case IP_HR_FREE: rt_say(ts, IP_SAY_DEBUG, "%s(0x%lX)", function(name, sizeof name, a[4], "free"), a[0]); break;
    case IP_HR_USABLE: rt_say(ts, IP_SAY_DEBUG, "malloc_usable_size(0x%lX) = %lu", a[0], result); break;
    case IP_HR_STATS: rt_say(ts, IP_SAY_DEBUG, "%s()", function(name, sizeof name, a[1], "mallinfo")); break;
    default: break;
    }
}
