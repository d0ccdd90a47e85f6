/* The errors are there when the environment says so. */
#include <stdlib.h>
int seeded_errors;
__attribute__((constructor)) static void look(void) { seeded_errors = getenv("SEEDED") != 0; }
