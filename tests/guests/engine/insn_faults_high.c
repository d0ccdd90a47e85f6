// flags: -no-pie
// options: --vex-iropt-register-updates=allregs-at-mem-access
// modes: default memcheck tracking
/* Faults (insn_faults.c), in code far above 2 GiB. */
#define CODE 0x2000000000
#include "insn_faults.c"
