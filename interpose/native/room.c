/* A sweep over a stretch of code, from function to function, for what leads into the beginnings of some. Functions
 * written in assembly do so: glibc's mempcpy jumps to the second instruction of memmove. */
#include "native/room.h"

#include "abi/x86_insn.h"
#include "jit/x86_decode.h"

/* The last of n ascending words that is below x; n if there is none. */
static size_t last_below(const uint64_t *words, size_t n, uint64_t x) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (words[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : n;
}

static void lead_to(uint64_t address, const uint64_t *wanted, size_t n_wanted, uint8_t *room) {
    size_t at = last_below(wanted, n_wanted, address);
    if (at != n_wanted && address - wanted[at] < room[at]) room[at] = (uint8_t)(address - wanted[at]);
}

void ip_rooms(const uint8_t *code, size_t size, uint64_t vaddr, const uint64_t *starts, size_t n_starts,
              const uint64_t *wanted, size_t n_wanted, uint8_t *room) {
    size_t next = 0, at = 0;
    for (size_t i = 0; i < n_wanted; i++) room[i] = IP_MOST_ROOM;
    for (size_t i = 0; i < n_starts; i++) lead_to(starts[i], wanted, n_wanted, room);
    while (at < size) {
        struct ip_insn insn;
        while (next < n_starts && starts[next] <= vaddr + at) next++;
        int length = ip_decode(code + at, size - at, vaddr + at, &insn);
        if (length <= 0) {
            at++; /* data */
            continue;
        }
        if (insn.flow == IP_F_JMP || insn.flow == IP_F_JCC || insn.flow == IP_F_CALL || insn.flow == IP_F_LOOP)
            lead_to(insn.target, wanted, n_wanted, room);
        at += (size_t)length;
        /* Data between functions may have been taken for the beginning of an instruction. */
        if (next < n_starts && starts[next] < vaddr + at) at = starts[next] - vaddr;
    }
}
