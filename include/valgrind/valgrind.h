/* <valgrind/valgrind.h> for those who have this folder on their path: both spellings of <interpose/interpose.h>. */
#include "../interpose/interpose.h"
