/* The address space of the client (docs/architecture.md), its shadow, and the keys of translations.  cffi parses this
 * file. */
#ifndef INTERPOSE_ABI_SPACE_H
#define INTERPOSE_ABI_SPACE_H

#include <stdint.h>

#define IP_IMAGES_LO  0x10000000 /* PIEs, ld.so, libraries, exec maps */
#define IP_IMAGES_HI  0x5d000000 /* SBCL needs 0x50000000 to 0x5ac00000 */
#define IP_CACHE_BASE 0x5d000000 /* code cache, client maps it r-x */
#define IP_CACHE_MAX  0x10000000
/* Of tools that trace: templates (trace.h), which no flush forgets, in the upper half of the cache. */
#define IP_TRACE_BASE 0x65000000
#define IP_TRACE_MAX  0x08000000
/* Of tools with a shadow: what checks that fail lead to, apart from the code that runs all the time. */
#define IP_COLD_BASE 0x65000000
#define IP_META_BASE 0x6d000000 /* translator's tables, client maps r-- */
#define IP_META_MAX  0x0f020000
#define IP_RT_BASE   0x7c100000 /* the runtime executable (fixed) */
#define IP_LEFT_LO   0x7d000000 /* the program's: Debian links Wine's loader here */
#define IP_LEFT_HI   0x7dc00000
#define IP_CHAN_BASE 0x7dc00000 /* channel, shared rw */
#define IP_FAST_BASE 0x7fd00000 /* fast lookup table, client private rw */
#define IP_FAST_BITS 16         /* entries = 1 << bits, 8 bytes each */
#define IP_MAX_GONE  4000       /* entries that IP_R_INVALIDATE names */
/* Bytes before the entry of a block with key below 2 GiB: entries of the table lead there, guest pc in RCX, RCX and
 * RDX in their slots. */
#define IP_ENTRY_CHECK 32
#define IP_LOW_END     0x7fe00000 /* Windows' shared page: 0x7ffe0000; AddressSanitizer's shadow: from 0x7fff7000 */
#define IP_CLIENT_LO   0x0000001000000000 /* heap, stacks, anonymous maps */
#define IP_CLIENT_END  0x0000200000000000 /* 32 TiB client limit */
#define IP_PLACE_END   0x0000100000000000 /* we place nothing from there on (CLISP's heap, 16 TiB) */
/* Without a shadow the program has what it has natively, but for a window of
 * ours and the kernel's places for the runtime's first stack: within 16 GiB
 * below the end of user space, and what that may grow to. */
#define IP_CLIENT_END_BARE 0x00007ff000000000
/* The runtime's own memory, chosen by us so that it never meets the program's.
 * Where native programs are (PIEs), which the fixed layouts of AddressSanitizer,
 * MemorySanitizer and ThreadSanitizer leave to the program. */
#define IP_OWN_BASE 0x0000550000000000
#define IP_OWN_END  0x0000558000000000
/* At its begin, in either process: what the translator alone knows, and writable views of the meta memory and of the
 * code cache.  No program for Linux is loaded there, so the supervisor's Python leaves it free, too. */
#define IP_XLT_BASE  0x0000550000000000
#define IP_XLT_MAX   0x10000000
#define IP_XLT_META  0x0000550010000000
#define IP_XLT_CACHE 0x0000550020000000
#define IP_XLT_END   0x0000550030000000
#define IP_BRK_BARE  0x0000560000000000 /* program break without a shadow */

/* Shadow: V byte of a is at a + IP_V_CONST; A bit of a is bit (a & 7) of the
 * byte at (a >> 3) + IP_A_BASE.  V: 1 = undefined.  A: 1 = unaddressable.
 * GS base is IP_V_CONST - IP_V_DISP and every gs: operand carries
 * + IP_V_DISP (docs/measurements.md, points 1 and 2). */
#define IP_V_CONST 0x0000200005555840
#define IP_V_DISP  0x3c
#define IP_A_BASE  0x0000500000000000

/* Translation keys: guest pc plus mode bits. */
#define IP_KEY_NOREDIR 0x8000000000000000 /* ignore bindings for this entry */
#define IP_KEY_TRACK   0x4000000000000000 /* tracking translation */
#define IP_KEY_ONE     0x2000000000000000 /* one instruction only (SMC) */
#define IP_KEY_BARE    0x1000000000000000 /* with KEY_ONE: without the tool */
#define IP_KEY_NONE    0x0aaa800000000000 /* no key: an address whose high bits happen to be those above */
#define IP_KEY_PC      0x0000ffffffffffff

#endif
