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

static size_t first_not_below(const uint64_t *words, size_t n, uint64_t x) {
    size_t at = last_below(words, n, x);
    return at == n ? 0 : at + 1;
}

/* Nothing goes on to the next instruction. */
static int ends(const struct ip_insn *insn) {
    return insn->flow == IP_F_JMP || insn->flow == IP_F_JMPI || insn->flow == IP_F_RET || insn->flow == IP_F_UD;
}

static int is_padding(const struct ip_insn *insn) { return insn->mnem == IP_MN_NOP || insn->mnem == IP_MN_INT3; }

/* Padding from an address on: what lies there is not run, for nothing comes from before and no function begins. */
static size_t padding(const uint8_t *code, size_t size, uint64_t vaddr, size_t at, uint64_t next) {
    size_t first = at;
    struct ip_insn insn;
    while (at < size && vaddr + at < next) {
        int length = ip_decode(code + at, size - at, vaddr + at, &insn);
        if (length <= 0 || !is_padding(&insn) || vaddr + at + (size_t)length > next) break;
        at += (size_t)length;
    }
    return at - first;
}

/* A function with no symbol may follow the end of this one. */
static uint8_t own_room(const uint8_t *code, size_t size, uint64_t vaddr, uint64_t address, uint8_t room) {
    size_t first = address - vaddr, at = first;
    int ended = 0;
    while (at < size && at - first < room) {
        struct ip_insn insn;
        int length = ip_decode(code + at, size - at, vaddr + at, &insn);
        if (ended && (length <= 0 || !is_padding(&insn))) return (uint8_t)(at - first);
        if (length <= 0) break;
        ended |= ends(&insn);
        at += (size_t)length;
    }
    return room;
}

size_t ip_caves(const uint8_t *code, size_t size, uint64_t vaddr, const uint64_t *starts, size_t n_starts,
                uint64_t wanted, uint64_t *caves, size_t most) {
    uint64_t low = wanted - vaddr > IP_CAVE_REACH ? wanted - IP_CAVE_REACH : vaddr;
    size_t next = first_not_below(starts, n_starts, low + 1), found = 0;
    size_t at = next ? (starts[next - 1] > vaddr ? starts[next - 1] - vaddr : 0) : 0;
    while (at < size && vaddr + at < wanted + IP_CAVE_REACH) {
        struct ip_insn insn;
        while (next < n_starts && starts[next] <= vaddr + at) next++;
        int length = ip_decode(code + at, size - at, vaddr + at, &insn);
        at += length > 0 ? (size_t)length : 1;
        if (length > 0 && ends(&insn)) {
            uint64_t border = next < n_starts ? starts[next] : vaddr + size;
            size_t room = border > vaddr + at ? padding(code, size, vaddr, at, border) : 0;
            for (; room >= IP_CAVE; room -= IP_CAVE, at += IP_CAVE)
                if (found < most && vaddr + at + IP_CAVE_REACH >= wanted && vaddr + at <= wanted + IP_CAVE_REACH)
                    caves[found++] = vaddr + at;
            at += room;
        }
        if (next < n_starts && starts[next] < vaddr + at) at = starts[next] - vaddr;
    }
    return found;
}

void ip_rooms(const uint8_t *code, size_t size, uint64_t vaddr, const uint64_t *starts, size_t n_starts,
              const uint64_t *wanted, size_t n_wanted, uint8_t *room) {
    size_t next = 0, at = 0;
    for (size_t i = 0; i < n_wanted; i++) room[i] = IP_MOST_ROOM;
    for (size_t i = 0; i < n_starts; i++) lead_to(starts[i], wanted, n_wanted, room);
    for (size_t i = 0; i < n_wanted; i++)
        if (wanted[i] - vaddr < size) room[i] = own_room(code, size, vaddr, wanted[i], room[i]);
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
