/* <valgrind/callgrind.h> for those who have this folder on their path: both spellings of <interpose/callgrind.h>. */
#include "../interpose/callgrind.h"
