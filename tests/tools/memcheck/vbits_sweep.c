/* One instruction after the other on random values with random undefined bits: the V bits of all that it may have
 * written, and how many errors it made, go to a file.  The cases are functions of a generated file of assembly
 * (vbits_cases.py).
 *
 *     vbits_sweep TURNS FILE
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

#define STATE  256 /* vbits_cases.py lays it out */
#define MEMORY 160 /* in it: what [rdi] names */
#define FLAGS  240

typedef uint64_t u64;
typedef unsigned char u8;

#include "../../shadow/random_words.h"

extern void (*const cases[])(void *in, void *out);
extern const int n_cases;

struct record {
    u8 vbits[STATE];
    u8 unknown, errors, pad[6];
};

static sigjmp_buf back;
static void on_unknown(int signal) { siglongjmp(back, signal); }

int main(int argc, char **argv) {
    static u8 in[STATE] __attribute__((aligned(64))), vbits[STATE], out[STATE] __attribute__((aligned(64)));
    struct sigaction action = {.sa_handler = on_unknown, .sa_flags = SA_NODEFER};
    FILE *file = argc == 3 ? fopen(argv[2], "wb") : NULL;
    if (!file) return 2;
    sigaction(SIGILL, &action, NULL);
    for (int i = 0; i < n_cases; i++)
        for (int turn = 0; turn < atoi(argv[1]); turn++) {
            struct record r = {0};
            seed = ((u64)i * 1000 + turn + 1) * 0x9e3779b97f4a7c15ull;
            VALGRIND_MAKE_MEM_DEFINED(in, STATE);
            VALGRIND_MAKE_MEM_DEFINED(out, STATE);
            memset(out, 0, STATE);
            for (int at = 0; at < STATE; at += 8) {
                u64 v = word(), u = mask_word();
                memcpy(in + at, &v, 8);
                memcpy(vbits + at, &u, 8);
            }
            u64 flags = 0x202 | (rnd() & 0x8c5);
            memcpy(in + FLAGS, &flags, 8);
            memset(vbits + FLAGS, 0, 16);
            VALGRIND_SET_VBITS(in, vbits, STATE);
            unsigned before = VALGRIND_COUNT_ERRORS;
            if (sigsetjmp(back, 1))
                r.unknown = 1;
            else
                cases[i](in, out);
            r.errors = (u8)(VALGRIND_COUNT_ERRORS - before);
            VALGRIND_GET_VBITS(out, r.vbits, STATE);
            VALGRIND_GET_VBITS(in + MEMORY, r.vbits + MEMORY, 64);
            fwrite(&r, 1, sizeof r, file);
        }
    return fclose(file) != 0;
}
