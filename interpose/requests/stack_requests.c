/* Stacks that the program declares: coroutines, fibers, stacks from a pool. */
#include "requests/requests.h"
#include "runtime/hooks.h"

struct client_stack {
    u64 id; /* 0: free */
    u64 lo, hi;
};

static rt_lock_t lock;
static struct client_stack *stacks;
static u32 n_stacks, cap_stacks;
static u64 last_id;

/* "hi" is the highest addressable byte or the first one after it: both are in use. */
static void ordered(u64 *lo, u64 *hi) {
    if (*lo > *hi) {
        u64 t = *lo;
        *lo = *hi;
        *hi = t;
    }
}

static struct client_stack *find(u64 id) {
    for (u32 i = 0; i < n_stacks; i++)
        if (stacks[i].id == id) return &stacks[i];
    return NULL;
}

static struct client_stack *free_entry(void) {
    struct client_stack *s = find(0);
    if (s) return s;
    if (n_stacks == cap_stacks) {
        u32 cap = cap_stacks ? cap_stacks * 2 : 128;
        struct client_stack *p = rt_pages(cap * sizeof *p);
        if (stacks) {
            memcpy(p, stacks, n_stacks * sizeof *p);
            rt_free_pages(stacks, cap_stacks * sizeof *p);
        }
        stacks = p;
        cap_stacks = cap;
    }
    return &stacks[n_stacks++];
}

u64 rt_client_stack_register(u64 lo, u64 hi) {
    ordered(&lo, &hi);
    rt_lock(&lock);
    struct client_stack *s = free_entry();
    u64 id = ++last_id;
    *s = (struct client_stack){id, lo, hi};
    rt_hook_stack_named(s->lo, s->hi, true);
    rt_unlock(&lock);
    return id;
}

void rt_client_stack_deregister(u64 id) {
    rt_lock(&lock);
    struct client_stack *s = id ? find(id) : NULL;
    if (s) {
        rt_hook_stack_named(s->lo, s->hi, false);
        s->id = 0;
    }
    rt_unlock(&lock);
}

void rt_client_stack_change(u64 id, u64 lo, u64 hi) {
    ordered(&lo, &hi);
    rt_lock(&lock);
    struct client_stack *s = id ? find(id) : NULL;
    if (s) {
        rt_hook_stack_named(s->lo, s->hi, false);
        s->lo = lo;
        s->hi = hi;
        rt_hook_stack_named(s->lo, s->hi, true);
    }
    rt_unlock(&lock);
}

void rt_client_stacks_fork_lock(bool hold) {
    if (hold)
        rt_lock(&lock);
    else
        rt_unlock(&lock);
}
