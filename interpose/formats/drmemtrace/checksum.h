/* The checksum of snappy's framed files.  cffi parses this file. */
#ifndef INTERPOSE_DRMEMTRACE_CHECKSUM_H
#define INTERPOSE_DRMEMTRACE_CHECKSUM_H

#include <stdint.h>

uint32_t ip_mt_crc32c(const uint8_t *from, uint64_t n);

#endif
