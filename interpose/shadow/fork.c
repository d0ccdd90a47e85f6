/* The shadow's locks around a fork: the child has one thread, which must find
 * none of them held by a thread that is not there. */
#include "tools/memcheck/client/io_uring.h"
#include "shadow/shadow.h"

void rt_shadow_fork_lock(bool lock) {
    rt_lock_t *const all[] = {&sh_map_lock, &sh_stacks_lock, &sh_err_lock, &sh_uring_lock};
    for (u32 i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (lock)
            rt_lock(all[i]);
        else
            rt_unlock(all[i]);
    }
}
