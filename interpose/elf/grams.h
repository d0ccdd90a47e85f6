/* Short sequences of bytes that a file's string tables hold, as bits: what they do not hold is found out without a look
 * into the tables, of which those of a large program take a tenth of a millisecond to be searched.  cffi parses this
 * file.
 */
#ifndef INTERPOSE_GRAMS_H
#define INTERPOSE_GRAMS_H

#include <stdint.h>

enum { IP_GRAM = 5 /* bytes of a sequence */, IP_GRAM_WORDS = 1 << 14 /* of 64 bits each */ };

/* Note every sequence of a table. */
void ip_note_grams(const uint8_t *table, uint64_t size, uint64_t *words);

/* Whether all sequences of a part were noted: if not, no table holds the part.  A part that is shorter than a sequence
 * may be anywhere. */
int ip_has_grams(const uint64_t *words, const uint8_t *part, uint64_t size);

#endif
