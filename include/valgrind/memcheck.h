/* <valgrind/memcheck.h> for those who have this folder on their path: both spellings of <interpose/memcheck.h>. */
#include "../interpose/memcheck.h"
