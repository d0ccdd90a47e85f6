/* The line tables of an ELF file, read in bulk: what a profile of every instruction asks for.
 *
 * Lines are those of the line number programs alone (DWARF 5, 6.2), and files as these spell them; calls that were
 * inlined are not told apart (symbolic's caches do that, one address at a time).  cffi parses this file. */
#ifndef INTERPOSE_LINES_H
#define INTERPOSE_LINES_H

#include <stdint.h>

struct ip_line_row { /* up to where the next one starts */
    uint64_t start;
    uint32_t file, line; /* file 0: there is no line */
};

struct ip_lines {
    uint64_t n_rows, n_files, strings_size;
    const struct ip_line_row *rows; /* ascending */
    const uint32_t *files;          /* where in strings the path of a file is; that of 0 is empty */
    const char *strings;
    const uint8_t *whole; /* all of it, to be kept in a file */
    uint64_t whole_size;
};

struct ip_line_sections {
    const uint8_t *line;
    const char *line_str, *str;
    uint64_t line_size, line_str_size, str_size;
    /* Where the code is, as n_ranges pairs of start and end: programs of code that the linker left out are about
     * addresses elsewhere. */
    const uint64_t *ranges;
    uint64_t n_ranges;
    /* Compilation directories, which programs before version 5 do not have: offsets of the programs, ascending, and
     * where in home_names each is. */
    const uint64_t *homes;
    const uint32_t *home_from;
    const char *home_names;
    uint64_t n_homes;
};

/* Is there a program whose directories are relative to one that it does not name? */
int ip_lines_want_homes(const struct ip_line_sections *in);
/* 0, or -1: no memory.  Damaged programs give the lines before the damage. */
int ip_lines_read(const struct ip_line_sections *in, struct ip_lines *out);
/* Of what was kept: 0, or -1: it is something else. */
int ip_lines_open(const uint8_t *whole, uint64_t size, struct ip_lines *out);
/* The row of a link-time address, NULL: there is no line. */
const struct ip_line_row *ip_lines_find(const struct ip_lines *t, uint64_t address);
const char *ip_lines_path(const struct ip_lines *t, uint32_t file);
/* Of what was read, not of what was opened. */
void ip_lines_free(struct ip_lines *t);

#endif
