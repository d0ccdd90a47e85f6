/* Lockstep: what its C files share. */
#ifndef INTERPOSE_LOCKSTEP_PRIV_H
#define INTERPOSE_LOCKSTEP_PRIV_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

#include "lockstep/lockstep.h"

/* All: 0, or -1 with error and text set. */
int ls_fail(struct ip_ls *l, const char *what);
int ls_get_n(struct ip_ls *l);
int ls_set(struct ip_ls *l, int pid, const struct ip_ls_regs *r);
int ls_get_vector(struct ip_ls *l, int pid, uint8_t *image);
int ls_set_n_vector(struct ip_ls *l, uint8_t *image);
/* Bytes copied to the same addresses of another process. */
int64_t ls_copy(int to_pid, int from_pid, uint64_t addr, uint64_t len);
/* T to its breakpoint: 1 if it ended.  N by an instruction, N to a pc: 1 for a
 * fault of its own. */
int ls_t_run(struct ip_ls *l, uint64_t until);
int ls_n_step(struct ip_ls *l);
int ls_n_run(struct ip_ls *l, uint64_t until);

#endif
