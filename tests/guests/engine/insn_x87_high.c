// flags: -no-pie
// modes: default memcheck tracking
/* The last x87 instruction (insn_x87.c), in code far above 2 GiB. */
#define CODE 0x2000000000
#include "insn_x87.c"
