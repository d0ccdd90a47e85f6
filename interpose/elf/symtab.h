/* Symbol tables of ELF files, read in bulk: an object of Python's for each symbol costs a large library half a
 * second, and few of them are ever asked for.  cffi parses this file.
 */
#ifndef INTERPOSE_SYMTAB_H
#define INTERPOSE_SYMTAB_H

#include <stdint.h>

struct ip_symtab { /* .symtab or .dynsym as the file has it */
    const uint8_t *symbols;
    uint64_t count; /* the null symbol included */
    const char *strings;
    uint64_t strings_size;
    /* .dynsym: version indices by symbol, NULL without.  .symtab has the versions in its names. */
    const uint8_t *versions;
    const char *version_names;        /* strings, one after the other */
    const int32_t *version_name_from; /* by index: where in version_names; -1: the index has no name */
    uint32_t version_count;
    int is_dynamic;
};

struct ip_symbols { /* what was found, in columns */
    uint64_t count;
    uint64_t *address, *size;
    uint8_t *is_global, *is_ifunc, *is_text;
    char *names;         /* each ends with a NUL */
    uint64_t *name_from; /* where in names each begins */
    uint64_t names_size;
};

/* Number of the first symbol whose name is not in the string table; 0: none.  The rest asks for tables that
 * were checked. */
uint64_t ip_symtab_misnamed(const struct ip_symtab *t);

/* Whether a symbol that is defined bears one of n names, which end with a NUL each, whatever its version; also if
 * a symbol's name is not in the string table. */
int ip_defines_one_of(const struct ip_symtab *t, const char *names, uint32_t n);

/* The functions of a full table and of a dynamic one (either may have no symbol), by address, each name once
 * for an address: what the redirection core asks for.  ranges: n_ranges pairs of start and end of the text;
 * objects_too: data symbols in there count, but for unique ones. */
void ip_function_symbols(const struct ip_symtab *full, const struct ip_symtab *dynamic, const uint64_t *ranges,
                         uint64_t n_ranges, int is_program, int objects_too, struct ip_symbols *out);

/* What addresses are named after: the symbols with an address in the ranges whose type has its bit in types, the
 * dynamic ones without their version, as disjoint pieces by address. */
void ip_place_symbols(const struct ip_symtab *full, const struct ip_symtab *dynamic, const uint64_t *ranges,
                      uint64_t n_ranges, uint32_t types, struct ip_symbols *out);

/* The pieces of any n symbols; names: each ends with a NUL. */
void ip_pieces(uint64_t n, const uint64_t *addresses, const uint64_t *sizes, const char *names, struct ip_symbols *out);

/* Which of the pieces holds an address; -1: none. */
int64_t ip_symbol_at(const struct ip_symbols *s, uint64_t address);

void ip_symbols_free(struct ip_symbols *s);

#endif
