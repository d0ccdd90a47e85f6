/* Offsets that generated code and assembly rely on. */
#include "abi/hook.h"
#include "abi/inline/tt_hash.h"
#include "runtime/base/rt.h"

#define AT(f, o) _Static_assert(offsetof(struct tstate, f) == (o), #f)
_Static_assert(IP_META_BASE + IP_META_TT == 0x6d001000 && sizeof(struct ip_ttent) << IP_META_TTBITS == 0x1000000 &&
                   IP_FAST_BASE == 0x7fd00000 && IP_ENTRY_CHECK == 32 && IP_TT_NEAR == 8 && IP_TT_BLOCK == 0xfffff &&
                   IP_TT_GONE == IP_TT_BLOCK && IP_TT_NOREDIR == 0x100000 && IP_TT_TAG_SHIFT == 21,
               "entry.S, rt_find_stub: the table");
_Static_assert(IP_META_BASE + IP_META_BLOCKS == 0x70011000 && sizeof(struct ip_block) == 32 &&
                   offsetof(struct ip_block, key) == 0 && offsetof(struct ip_ttent, entry) == 0 &&
                   offsetof(struct ip_ttent, host) == 4,
               "entry.S, rt_find_stub: blocks, entries");
_Static_assert(IP_FAST_BITS == 16 && IP_MAX_GONE * 2 <= sizeof((struct ip_slot *)0)->data,
               "IP_R_INVALIDATE names entries by 16 bits");
AT(gpr, 0x000);
AT(rflags, 0x080);
AT(pc, 0x088);
AT(target, 0x090);
AT(exit_id, 0x098);
AT(client_fs, 0x0a0);
AT(rt_sp, 0x0b0);
AT(umask, 0x0b8);
AT(cs_top, 0x0c0);
AT(cs_base, 0x118);
AT(self, 0x0d0);
AT(tmp, 0x0d8);
AT(lahf, 0x09c);
AT(acc_addr, 0x138);
AT(acc_info, 0x140);
AT(acc_kind, 0x144);
AT(resume, 0x148);
AT(stack_lo, 0x160);
AT(stack_hi, 0x168);
AT(stack_shared, 0x170);
AT(stack_calm, 0x176);
AT(redzone_not_lo, 0x178);
AT(tr_ptr, 0x188);
AT(ct_base, 0x190);
AT(ct_total, 0x198);
AT(ct_where, 0x1b8);
AT(ct_slow, 0x1bc);
AT(ct_from, 0x1c0);
AT(ct_levels, 0x1c8);
AT(ct_top, 0x1d8);
AT(ct_limit, 0x1e0);
AT(ct_pairs, 0x1e8);
AT(ct_popped, 0x1f0);
AT(ct_mask, 0x1f8);
AT(ct_turns, 0x130);
AT(vgpr, 0x200);
AT(vflags, 0x280);
AT(vfsw, 0x282);
AT(vvec, 0x340);
AT(vecsave, 0xb40);
AT(runtime_area, 0x1340);
#define TH(f, o) _Static_assert(0x1340 + offsetof(struct rt_thread, f) == (o), #f)
TH(in_runtime, 0x1354);
_Static_assert(RT_IN_PROGRAM == 0 && RT_IN_RUNTIME == 1 && RT_AT_EXIT == 2, "ORDER rt_where: entry.S");
_Static_assert(IP_U_REDZONE == 23 && IP_RAX == 0 && IP_R15 == 15, "ORDER ip_gpr, IP_U_*: entry.S");
TH(pending, 0x1380);
TH(flush_seq, 0x1454);
_Static_assert(sizeof(struct rt_thread) <= 2048, "the second half is the signal layer's");
_Static_assert(sizeof(struct ip_csent) == 16 && offsetof(struct ip_csent, retaddr) == 0, "call stack entry");
_Static_assert(sizeof(struct ip_exit) == 16, "meta tables");
_Static_assert(sizeof(struct ip_slot) <= IP_SLOT_SIZE, "slot");
_Static_assert(sizeof(struct ip_error) <= IP_SLOT_DATA, "an error record fits a slot");
_Static_assert(IP_META_BASE + IP_META_EXITS == 0x6e011000, "entry.S: META_EXITS");
_Static_assert(IP_A_BASE == 0x0000500000000000 && IP_V_DISP == 0x3c && IP_V_CONST == 0x0000200005555840,
               "slow_entry.inc: shadow constants");

#define HOOK(f, o) _Static_assert(offsetof(struct ip_hook_frame, f) == (o), "hook_stubs.S: " #f)
HOOK(original, 0x038);
HOOK(target, 0x040);
HOOK(copied, 0x048);
HOOK(room, 0x050);
HOOK(top, 0x058);
HOOK(integer, 0x060);
HOOK(vectors, 0x090);
HOOK(chain, 0x098);
HOOK(vector, 0x0a0);
HOOK(result, 0x120);
HOOK(vresult, 0x130);
HOOK(kept, 0x150);
HOOK(changed, 0x188);
HOOK(changes, 0x190);
_Static_assert(sizeof(struct ip_hook_frame) == 0x198 && IP_HOOK_STACK == 0x198 + 24 && IP_HOOK_RETURN == 0x198 + 16 &&
                   IP_HOOK_ENTRIES == 4096 && IP_HOOK_ENTRY_SIZE == 8,
               "hook_stubs.S");
