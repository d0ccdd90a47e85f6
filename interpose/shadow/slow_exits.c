/* The shadow's slow paths, by the full exit: what each exit of a translation asks for. */
#include "abi/inline/described.h"
#include "runtime/base/cpu.h"
#include "shadow/origin.h"
#include "shadow/shadow.h"
#include "shadow/track.h"

enum rt_slow sh_slow(struct tstate *ts, const struct ip_exit *x) {
    u32 kind = x->kind_aux & 0xff;
    switch (kind) {
    case IP_XS_LOAD:
    case IP_XS_STORE:
        ts->pc = x->key;
        ts->acc_info = (x->kind_aux >> 8) | (kind == IP_XS_STORE ? 1u << 16 : 0);
        if (kind == IP_XS_STORE ? rt_store_slow(ts) : rt_load_slow(ts)) return RT_SLOW_RESUME;
        ts->pc = x->key | IP_KEY_TRACK | IP_KEY_NOREDIR;
        return RT_SLOW_ENTER;
    case IP_XS_TRACK: {
        const struct ip_insn *in = (const struct ip_insn *)ip_described(x->kind_aux >> 8);
        ts->pc = x->key;
        if (rt_track_needs_vec(in)) rt_save_vec(ts, rt_cpu()->vectors);
        rt_track_insn(ts, in);
        return RT_SLOW_RESUME;
    }
    case IP_XS_SPCHG:
        ts->pc = x->key & IP_KEY_PC;
        rt_stack_stepped(ts, ts->tmp[0], ts->gpr[IP_RSP]);
        if ((x->key & IP_KEY_ONE) && (x->key & IP_KEY_BARE))
            rt_stack_restored(ts, ts->tmp[0], ts->gpr[IP_RSP]);
        else if (x->key & IP_KEY_ONE)
            rt_stack_raised(ts, ts->tmp[0], ts->gpr[IP_RSP]);
        else if (x->key & IP_KEY_BARE)
            rt_stack_loaded(ts, ts->tmp[0], ts->gpr[IP_RSP]);
        else
            rt_stack_changed(ts, ts->tmp[0], ts->gpr[IP_RSP]);
        return RT_SLOW_RESUME;
    default: rt_panic(ts, "unknown slow path %u", kind);
    }
}

_Static_assert(IP_MV_LOAD1 == 0 && IP_MV_SX1_4 == 4 && IP_MV_STORE1 == 9 && IP_MV_PUSH == 13 && IP_MV_VLOAD16 == 14 &&
                   IP_MV_VSTORE16 == 17 && IP_MV_VLOAD4 == 19 && IP_MV_VSTORE8 == 24 && IP_MV_NONE == 25 &&
                   IP_MOVES_STEP == 16 && IP_MOVE_DEFINED == 0xffffff && IP_MOVE_REG_SHIFT == 24 && IP_U_VEC0 == 32,
               "ORDER ip_move, IP_U_*: rt_moves_stub");
_Static_assert(IP_AR_ALU_END *IP_AR_FORMS *IP_AR_SIZES == IP_AR_IMUL && IP_AR_IMUL + 2 * IP_AR_FORMS == IP_AR_SHIFT &&
                   IP_AR_SHIFT + IP_AR_SIZES * IP_AR_SHIFTS_END == IP_AR_NEG && IP_AR_NEG + IP_AR_SIZES == IP_AR_COPY &&
                   IP_AR_COPY + IP_AR_COPY_END == IP_AR_LEA && IP_AR_LEA + 4 == IP_AR_VEC &&
                   IP_AR_VEC + 3 * IP_AR_VEC_END == IP_AR_LOW && IP_AR_LOW + 4 == IP_AR_MOVED &&
                   IP_AR_MOVED + 1 == IP_AR_END && IP_AR_RESULT == 31 && IP_AR_WIDE == 1 << 16 &&
                   IP_AR_CLEAR == 1 << 17 && IP_ARITH_STEP == 16 && IP_U_FLAGS == 16,
               "ORDER IP_AR_*: rt_arith_stub");
_Static_assert(IP_STORES_STEP == 16 && IP_STORES_FLAGS == 7 && IP_STORES_ANY == 14,
               "ORDER IP_STORES_*: rt_stores_stub");
extern char rt_stores_stub[], rt_load_stub[], rt_light_stub[], rt_red_zone_stub[], rt_give_back_stub[], rt_moves_stub[],
    rt_origin_moves_stub[], rt_arith_stub[], rt_origin_arith_stub[];

/* rt_give_back_stub: registers of 64 bytes, where the legacy ones are left alone; or of 32 on AMD's
 * CPUs, where legacy instructions do not wait for all upper halves once some were in use. */
enum { SH_MARKS_STRING, SH_MARKS_YMM, SH_MARKS_ZMM };
_Static_assert(SH_MARKS_YMM == 1, "MARKS_YMM");
u8 rt_wide_marks;

void sh_symbols(u64 *symbols) {
    const struct rt_cpu *c = rt_cpu();
    rt_wide_marks = c->wide_masks ? SH_MARKS_ZMM : c->avx2 && c->amd ? SH_MARKS_YMM : SH_MARKS_STRING;
    symbols[IP_SYM_STORES] = (u64)rt_stores_stub;
    symbols[IP_SYM_SLOW_LOAD] = (u64)rt_load_stub;
    symbols[IP_SYM_SLOW_LIGHT] = (u64)rt_light_stub;
    symbols[IP_SYM_MOVES] = (u64)(origins_kept() ? rt_origin_moves_stub : rt_moves_stub);
    symbols[IP_SYM_ARITH] = (u64)(origins_kept() ? rt_origin_arith_stub : rt_arith_stub);
    symbols[IP_SYM_RED_ZONE] = (u64)rt_red_zone_stub;
    symbols[IP_SYM_GIVE_BACK] = (u64)(rt.chan->max_stackframe >= SH_GIVE_BACK ? rt_give_back_stub : rt_light_stub);
}
