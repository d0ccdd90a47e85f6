/* How busy the machine is. */
#ifndef INTERPOSE_CROWD_H
#define INTERPOSE_CROWD_H

#include <stdbool.h>

/* Whether more threads want to run than there are CPUs that we may use: who waits then leaves its CPU to them.  True
 * where the kernel does not say. */
bool ip_is_crowded(void);

#endif
