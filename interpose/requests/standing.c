/* What the supervisor need not be asked or told again until something changes: answers (IP_ANSWER_STANDS), for test
 * programs ask for the number of errors after each of their steps, and the answer is mostly the one before; and what
 * indirect functions chose, for each library that uses memcpy has its resolver run. */
#include "requests/requests.h"
#include "runtime/core/errors.h"

#define MANY 64  /* each request at the place that its words have, the last one met there */
#define MOST 128 /* bytes for the program's memory */

struct standing {
    u64 words[6], age, errors, result;
    u32 pid, len; /* pid: a forked child has a supervisor of its own */
    u8 data[MOST];
};
static struct standing answers[MANY];
static rt_lock_t lock; /* only ever tried: a child that finds it held asks each time */

static struct standing *place_of(const u64 w[6]) {
    u64 h = 0;
    for (u32 i = 0; i < 6; i++) h = (h ^ w[i]) * 0x9e3779b97f4a7c15ull;
    return &answers[h >> 32 & (MANY - 1)];
}

struct rt_state rt_state_now(void) {
    return (struct rt_state){__atomic_load_n(&rt.chan->answers_age, __ATOMIC_ACQUIRE), rt_errors_met()};
}

bool rt_standing_answer(const u64 w[6], struct rt_state now, u64 *result) {
    const struct standing *s = place_of(w);
    if (!s->pid || !rt_trylock(&lock)) return false;
    bool stands = s->pid == rt.pid && s->age == now.age && s->errors == now.errors;
    for (u32 i = 0; i < 6; i++) stands &= s->words[i] == w[i];
    if (stands) {
        *result = s->result;
        rt_put(s->data, s->len);
    }
    rt_unlock(&lock);
    return stands;
}

void rt_keep_answer(const u64 w[6], struct rt_state then, const struct ip_slot *slot) {
    struct standing *s = place_of(w);
    if (slot->r[2] > MOST || !rt_trylock(&lock)) return;
    *s = (struct standing){
        .age = then.age, .errors = then.errors, .result = slot->r[0], .pid = rt.pid, .len = (u32)slot->r[2]};
    memcpy(s->words, w, sizeof s->words);
    memcpy(s->data, slot->data, s->len);
    rt_unlock(&lock);
}

#define CHOICES 512 /* in sets of two neighbours */

static struct choice {
    u64 resolver, target, age;
    u32 pid;
} choices[CHOICES];

static struct choice *set_of(u64 resolver, u64 target) {
    u64 h = (resolver ^ target << 32 ^ target >> 32) * 0x9e3779b97f4a7c15ull;
    return &choices[h >> 32 & (CHOICES - 2)];
}

static bool is_told(const struct choice *c, u64 resolver, u64 target, u64 age) {
    return c->resolver == resolver && c->target == target && c->age == age && c->pid == rt.pid;
}

bool rt_choice_is_told(u64 resolver, u64 target, struct rt_state now) {
    const struct choice *set = set_of(resolver, target);
    if (!rt_trylock(&lock)) return false;
    bool told = is_told(set, resolver, target, now.age) || is_told(set + 1, resolver, target, now.age);
    rt_unlock(&lock);
    return told;
}

void rt_choice_told(u64 resolver, u64 target, struct rt_state then) {
    struct choice *set = set_of(resolver, target);
    if (!rt_trylock(&lock)) return;
    set[1] = set[0];
    set[0] = (struct choice){.resolver = resolver, .target = target, .age = then.age, .pid = rt.pid};
    rt_unlock(&lock);
}
