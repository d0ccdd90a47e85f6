/* The same of processes that share their maker's memory while it waits.
 * @options: --num-callers=2 -q */
#define FLAGS (CLONE_VM | CLONE_VFORK)
#include "process_stacks.c"
