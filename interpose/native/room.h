/* How many of a function's first bytes may be replaced by other instructions.  cffi parses this file. */
#ifndef INTERPOSE_NATIVE_ROOM_H
#define INTERPOSE_NATIVE_ROOM_H

#include <stddef.h>
#include <stdint.h>

enum { IP_MOST_ROOM = 16 };

/* One stretch of code, its functions' addresses (starts) and those that are asked about (wanted), both ascending and
 * each once.  room gets for each wanted one how far it is to the next function or to an address that some direct jump
 * of the stretch leads to; IP_MOST_ROOM if nothing is nearer. */
void ip_rooms(const uint8_t *code, size_t size, uint64_t vaddr, const uint64_t *starts, size_t n_starts,
              const uint64_t *wanted, size_t n_wanted, uint8_t *room);

/* A jump of two bytes reaches this far, less a few; a cave holds one of five bytes. */
enum { IP_CAVE = 5, IP_CAVE_REACH = 120 };

/* Places of IP_CAVE bytes in the padding between functions that a jump of two bytes at wanted reaches: their number, at
 * most as many as there is room for. */
size_t ip_caves(const uint8_t *code, size_t size, uint64_t vaddr, const uint64_t *starts, size_t n_starts,
                uint64_t wanted, uint64_t *caves, size_t most);

#endif
