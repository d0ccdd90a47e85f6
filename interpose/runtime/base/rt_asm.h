/* Offsets in struct rt_thread that syscall_asm.S needs; asserted in syscall.c. */
#define RT_TH_PENDING 64
