/* Which of many names are equal to one, whatever their versions.  cffi parses this file. */
#ifndef INTERPOSE_NAMETABLE_H
#define INTERPOSE_NAMETABLE_H

#include <stdint.h>

struct ip_name_table {
    const char *names; /* each ends with a NUL; the caller's, and lives as long */
    uint32_t count, mask;
    uint32_t *begins;       /* where in names each does; and where the last one ends */
    uint32_t *first, *next; /* by hash, and by name: its number + 1 of the next with that hash; 0: none */
};

/* Of count names, size bytes in all, less than 4 GiB; a version is what stands behind an `@`. */
void ip_name_table_fill(const char *names, uint64_t size, uint32_t count, struct ip_name_table *out);

/* The numbers of the names that are this one without their versions, ascending, up to room of them; how many there are.
 */
uint32_t ip_name_table_find(const struct ip_name_table *t, const char *bare, uint64_t size, uint32_t *out,
                            uint32_t room);

void ip_name_table_free(struct ip_name_table *t);

#endif
