/* A checksum of 128 bits: against damage and mix-ups, not against somebody who wants two texts to have the same. */
#ifndef INTERPOSE_DIGEST_H
#define INTERPOSE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* Any change of a single word of 64 bits changes it for certain. */
void ip_digest(const uint8_t *data, size_t n, uint64_t out[2]);

#endif
