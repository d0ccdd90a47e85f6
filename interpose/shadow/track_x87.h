/* Tracking: what images of the x87 state and instructions of it have in common. */
#ifndef INTERPOSE_TRACK_X87_H
#define INTERPOSE_TRACK_X87_H

#include "shadow/track.h"

#define TK_X87_CONDITIONS 0x4700 /* C0 to C3 of the status word */

/* V bits of the conditions. */
void tk_set_fsw(struct tk *t, u16 u);
/* V bits of the registers from and to an image, `apart` bytes from one to the next; top: the stack's top in it. */
void tk_x87_stored(struct tk *t, u64 at, unsigned apart);
void tk_x87_loaded(struct tk *t, u64 at, unsigned apart, unsigned top);

/* track_save.c: the number of st(0), and the signs and exponents of the registers by their numbers. */
unsigned tk_x87_top(void);
unsigned tk_x87_exponents(u16 exponents[8]);

#endif
