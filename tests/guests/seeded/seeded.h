/* Included before everything else of a program with seeded errors: SEEDED is 1 where they are wanted, else 0. */
#ifdef __cplusplus
extern "C" int seeded_errors;
#else
extern int seeded_errors;
#endif
#define SEEDED (seeded_errors)
