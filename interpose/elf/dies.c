/* Entries of .debug_info that have addresses: see dies.h.  Formats: DWARF 5, 7.5. */
#include "dies.h"

#include "bytes.h"

#include <stdlib.h>

enum { TAG_COMMON_BLOCK = 0x1a, TAG_SUBPROGRAM = 0x2e, TAG_VARIABLE = 0x34 };
enum { AT_LOCATION = 0x02, AT_LOW_PC = 0x11, AT_HIGH_PC = 0x12, AT_RANGES = 0x55 };
enum { OP_ADDR = 0x03, OP_ADDRX = 0xa1, OP_GNU_ADDR_INDEX = 0xfb };
enum {
    FORM_ADDR = 0x01,
    FORM_BLOCK2 = 0x03,
    FORM_BLOCK4,
    FORM_DATA2,
    FORM_DATA4,
    FORM_DATA8,
    FORM_STRING,
    FORM_BLOCK,
    FORM_BLOCK1,
    FORM_DATA1,
    FORM_FLAG,
    FORM_SDATA,
    FORM_STRP,
    FORM_UDATA,
    FORM_REF_ADDR,
    FORM_REF1,
    FORM_REF2,
    FORM_REF4,
    FORM_REF8,
    FORM_REF_UDATA,
    FORM_INDIRECT,
    FORM_SEC_OFFSET,
    FORM_EXPRLOC,
    FORM_FLAG_PRESENT,
    FORM_STRX,
    FORM_ADDRX,
    FORM_REF_SUP4,
    FORM_STRP_SUP,
    FORM_DATA16,
    FORM_LINE_STRP,
    FORM_REF_SIG8,
    FORM_IMPLICIT_CONST,
    FORM_LOCLISTX,
    FORM_RNGLISTX,
    FORM_REF_SUP8,
    FORM_STRX1,
    FORM_STRX2,
    FORM_STRX3,
    FORM_STRX4,
    FORM_ADDRX1,
    FORM_ADDRX2,
    FORM_ADDRX3,
    FORM_ADDRX4,
    FORM_GNU_ADDR_INDEX = 0x1f01,
    FORM_GNU_STR_INDEX,
    FORM_GNU_REF_ALT = 0x1f20,
    FORM_GNU_STRP_ALT,
};

struct abbreviation {
    uint64_t code;
    uint32_t tag, first, n; /* its attributes: n pairs from number first on */
    uint32_t fixed_size;    /* of all attributes together; ~0: not known beforehand, or somebody wants to see them */
    uint8_t children;
};

struct attribute {
    uint32_t name, form;
};

struct scan {
    const uint8_t *info, *abbrev;
    uint64_t info_size, abbrev_size;
    uint32_t what;
    struct ip_dies *out;
    /* The table of abbreviations read last. */
    struct abbreviation *table;
    uint64_t n_table, table_room;
    struct attribute *attributes;
    uint64_t n_attributes, attributes_room;
    uint64_t table_offset;
    unsigned table_sizes;
    uint64_t effort; /* bytes of tables that may still be read: hostile units could name a large one each */
    int no_memory;
};

struct unit {
    uint64_t offset, end;
    unsigned address_size, offset_size, version;
};

static void *grown(struct scan *s, void *array, uint64_t *room, uint64_t used, uint64_t each) {
    if (used < *room) return array;
    uint64_t more = *room * 2 + 256;
    void *fresh = realloc(array, more * each);
    if (!fresh) {
        s->no_memory = 1;
        return array;
    }
    *room = more;
    return fresh;
}

static void found(struct scan *s, struct ip_die die) {
    struct ip_dies *out = s->out;
    out->rows = grown(s, out->rows, &out->room, out->n, sizeof *out->rows);
    if (!s->no_memory) out->rows[out->n++] = die;
}

/* ---- Forms (7.5.5) ------------------------------------------------------------------------------ */

/* Size of a form's value, -1: that depends on the value. */
static int size_of(const struct unit *u, uint32_t form) {
    switch (form) {
    case FORM_FLAG_PRESENT:
    case FORM_IMPLICIT_CONST: return 0;
    case FORM_DATA1:
    case FORM_FLAG:
    case FORM_REF1:
    case FORM_STRX1:
    case FORM_ADDRX1: return 1;
    case FORM_DATA2:
    case FORM_REF2:
    case FORM_STRX2:
    case FORM_ADDRX2: return 2;
    case FORM_STRX3:
    case FORM_ADDRX3: return 3;
    case FORM_DATA4:
    case FORM_REF4:
    case FORM_REF_SUP4:
    case FORM_STRX4:
    case FORM_ADDRX4: return 4;
    case FORM_DATA8:
    case FORM_REF8:
    case FORM_REF_SIG8:
    case FORM_REF_SUP8: return 8;
    case FORM_DATA16: return 16;
    case FORM_ADDR: return (int)u->address_size;
    case FORM_REF_ADDR: return (int)(u->version == 2 ? u->address_size : u->offset_size);
    case FORM_STRP:
    case FORM_SEC_OFFSET:
    case FORM_STRP_SUP:
    case FORM_LINE_STRP:
    case FORM_GNU_REF_ALT:
    case FORM_GNU_STRP_ALT: return (int)u->offset_size;
    default: return -1;
    }
}

/* Step over a value; its length where it is a block, whose bytes begin at *block. */
static uint64_t step(struct cursor *c, const struct unit *u, uint32_t form, const uint8_t **block) {
    uint64_t length;
    int size = size_of(u, form);
    if (size >= 0) {
        skip(c, (uint64_t)size);
        return 0;
    }
    switch (form) {
    case FORM_SDATA:
    case FORM_UDATA:
    case FORM_REF_UDATA:
    case FORM_STRX:
    case FORM_ADDRX:
    case FORM_LOCLISTX:
    case FORM_RNGLISTX:
    case FORM_GNU_ADDR_INDEX:
    case FORM_GNU_STR_INDEX: uleb(c); return 0;
    case FORM_STRING: string(c); return 0;
    case FORM_INDIRECT: {
        uint32_t real = (uint32_t)uleb(c);
        if (real == FORM_INDIRECT) c->failed = 1;
        return c->failed ? 0 : step(c, u, real, block);
    }
    case FORM_BLOCK1: length = fixed(c, 1); break;
    case FORM_BLOCK2: length = fixed(c, 2); break;
    case FORM_BLOCK4: length = fixed(c, 4); break;
    case FORM_BLOCK:
    case FORM_EXPRLOC: length = uleb(c); break;
    default: c->failed = 1; return 0;
    }
    *block = c->at;
    skip(c, length);
    return c->failed ? 0 : length;
}

/* ---- Abbreviations (7.5.3) ---------------------------------------------------------------------- */

static int by_code(const void *a, const void *b) {
    uint64_t x = ((const struct abbreviation *)a)->code, y = ((const struct abbreviation *)b)->code;
    return x < y ? -1 : x > y;
}

static int is_wanted(const struct scan *s, uint32_t tag) {
    return (tag == TAG_VARIABLE && s->what & IP_DIE_VARIABLE) || tag == TAG_SUBPROGRAM;
}

static int read_table(struct scan *s, const struct unit *u, uint64_t offset) {
    unsigned sizes = u->address_size << 16 | u->offset_size << 8 | (u->version == 2);
    if (s->n_table && s->table_offset == offset && s->table_sizes == sizes) return 1;
    s->n_table = s->n_attributes = 0;
    if (offset >= s->abbrev_size) return 0;
    struct cursor c = {s->abbrev + offset, s->abbrev + s->abbrev_size, 0};
    int sorted = 1;
    for (uint64_t code; !c.failed && (code = uleb(&c)) != 0;) {
        struct abbreviation a = {.code = code, .tag = (uint32_t)uleb(&c), .children = (uint8_t)fixed(&c, 1)};
        uint64_t total = 0;
        int is_fixed = 1;
        a.first = (uint32_t)s->n_attributes;
        for (;;) {
            uint64_t name = uleb(&c), form = uleb(&c);
            if (form == FORM_IMPLICIT_CONST) sleb(&c);
            if (c.failed || (!name && !form)) break;
            s->attributes = grown(s, s->attributes, &s->attributes_room, s->n_attributes, sizeof *s->attributes);
            if (s->no_memory || form > UINT32_MAX || name > UINT32_MAX) return 0;
            s->attributes[s->n_attributes++] = (struct attribute){(uint32_t)name, (uint32_t)form};
            int size = size_of(u, (uint32_t)form);
            if (size < 0) is_fixed = 0;
            total += (uint64_t)(size < 0 ? 0 : size);
        }
        if (c.failed) break;
        a.n = (uint32_t)s->n_attributes - a.first;
        a.fixed_size = is_fixed && total < UINT32_MAX && !is_wanted(s, a.tag) ? (uint32_t)total : UINT32_MAX;
        s->table = grown(s, s->table, &s->table_room, s->n_table, sizeof *s->table);
        if (s->no_memory) return 0;
        if (s->n_table && s->table[s->n_table - 1].code >= code) sorted = 0;
        s->table[s->n_table++] = a;
    }
    uint64_t read = (uint64_t)(c.at - (s->abbrev + offset));
    if (read > s->effort) return 0;
    s->effort -= read;
    if (!sorted) qsort(s->table, s->n_table, sizeof *s->table, by_code);
    s->table_offset = offset;
    s->table_sizes = sizes;
    return s->n_table != 0;
}

static const struct abbreviation *look_up(const struct scan *s, uint64_t code) {
    /* As a rule codes count from 1. */
    if (code <= s->n_table && s->table[code - 1].code == code) return &s->table[code - 1];
    struct abbreviation key = {.code = code};
    return bsearch(&key, s->table, s->n_table, sizeof key, by_code);
}

/* ---- Entries ------------------------------------------------------------------------------------ */

static void read_variable(struct scan *s, struct cursor *c, const struct unit *u, const struct abbreviation *a,
                          struct ip_die die) {
    for (uint32_t i = 0; i < a->n && !c->failed; i++) {
        const struct attribute *at = &s->attributes[a->first + i];
        const uint8_t *block = NULL;
        uint64_t length = step(c, u, at->form, &block);
        if (at->name != AT_LOCATION || length < 2 || c->failed) continue;
        struct cursor expression = {block + 1, block + length, 0};
        if (*block == OP_ADDR && length == 1 + u->address_size) {
            die.low = fixed(&expression, u->address_size);
            die.what |= IP_DIE_VARIABLE;
        } else if (*block == OP_ADDRX || *block == OP_GNU_ADDR_INDEX) {
            die.low = uleb(&expression);
            if (expression.at == expression.end) die.what |= IP_DIE_INDEXED;
        }
    }
    if (!c->failed && die.what & (IP_DIE_VARIABLE | IP_DIE_INDEXED)) found(s, die);
}

static void read_function(struct scan *s, struct cursor *c, const struct unit *u, const struct abbreviation *a,
                          struct ip_die die) {
    int has_low = 0, has_more = 0, is_length = 0;
    for (uint32_t i = 0; i < a->n && !c->failed; i++) {
        const struct attribute *at = &s->attributes[a->first + i];
        struct cursor value = *c;
        const uint8_t *block = NULL;
        step(c, u, at->form, &block);
        int size = size_of(u, at->form);
        if (at->name == AT_LOW_PC) {
            has_low = 1;
            if (at->form == FORM_ADDR)
                die.low = fixed(&value, (uint64_t)size);
            else
                has_more = 1;
        } else if (at->name == AT_HIGH_PC) {
            if (at->form == FORM_ADDR || (at->form >= FORM_DATA2 && at->form <= FORM_DATA8) || at->form == FORM_DATA1) {
                die.high = fixed(&value, (uint64_t)size);
                is_length = at->form != FORM_ADDR;
            } else
                has_more = 1;
        } else if (at->name == AT_RANGES)
            has_more = 1;
    }
    if (c->failed || !(has_low || has_more)) return;
    if (has_more)
        die.low = die.high = 0;
    else if (is_length)
        die.high += die.low;
    die.what = IP_DIE_FUNCTION;
    found(s, die);
}

static void read_entries(struct scan *s, struct cursor *c, const struct unit *u) {
    /* Depths in the outermost function that is open, and in a common block of Fortran's, whose variables are global. */
    uint64_t depth = 0, function = 0, common = 0;
    while (c->at < c->end && !c->failed && !s->no_memory) {
        struct ip_die die = {.offset = (uint64_t)(c->at - s->info), .unit = u->offset};
        uint64_t code = uleb(c);
        if (!code) {
            if (depth-- <= 1) return; /* padding behind the unit's tree */
            if (depth < function) function = 0;
            if (depth < common) common = 0;
            continue;
        }
        const struct abbreviation *a = look_up(s, code);
        if (!a) return;
        if (a->fixed_size != UINT32_MAX)
            skip(c, a->fixed_size);
        else if (a->tag == TAG_VARIABLE && s->what & IP_DIE_VARIABLE) {
            if (function && !common) die.what = IP_DIE_LOCAL;
            read_variable(s, c, u, a, die);
        } else if (a->tag == TAG_SUBPROGRAM && s->what & IP_DIE_FUNCTION)
            read_function(s, c, u, a, die);
        else {
            const uint8_t *block;
            for (uint32_t i = 0; i < a->n && !c->failed; i++) step(c, u, s->attributes[a->first + i].form, &block);
        }
        if (a->children) {
            depth++;
            if (a->tag == TAG_SUBPROGRAM && !function) function = depth;
            if (a->tag == TAG_COMMON_BLOCK && !common) common = depth;
        } else if (!depth)
            return;
    }
}

/* The unit at an offset, and the entries of it; 0: its header makes no sense. */
static int read_unit(struct scan *s, uint64_t offset, uint64_t *next) {
    struct cursor c = {s->info + offset, s->info + s->info_size, 0};
    struct unit u = {.offset = offset, .offset_size = 4};
    uint64_t length = fixed(&c, 4);
    if (length == 0xffffffff) {
        length = fixed(&c, 8);
        u.offset_size = 8;
    }
    if (c.failed || length > (uint64_t)(c.end - c.at)) return 0;
    c.end = c.at + length;
    *next = (uint64_t)(c.end - s->info);
    u.version = (unsigned)fixed(&c, 2);
    uint64_t table;
    if (u.version >= 5) {
        unsigned kind = (unsigned)fixed(&c, 1);
        u.address_size = (unsigned)fixed(&c, 1);
        table = fixed(&c, u.offset_size);
        if (kind == 4 || kind == 5) skip(&c, 8);                   /* skeleton and split units */
        if (kind == 2 || kind == 6) skip(&c, 8ul + u.offset_size); /* type units */
    } else {
        table = fixed(&c, u.offset_size);
        u.address_size = (unsigned)fixed(&c, 1);
    }
    if (c.failed || u.version < 2 || u.version > 5 || u.address_size > 8) return 1;
    if (read_table(s, &u, table)) read_entries(s, &c, &u);
    return 1;
}

int ip_dies_scan(const uint8_t *info, uint64_t info_size, const uint8_t *abbrev, uint64_t abbrev_size, uint64_t from,
                 uint64_t to, uint32_t what, struct ip_dies *out) {
    struct scan s = {.info = info,
                     .abbrev = abbrev,
                     .info_size = info_size,
                     .abbrev_size = abbrev_size,
                     .what = what,
                     .out = out,
                     .effort = 64 * abbrev_size + (64 << 20)};
    *out = (struct ip_dies){0};
    for (uint64_t next = from; next < to && next < info_size && !s.no_memory;)
        if (!read_unit(&s, next, &next)) break;
    free(s.table);
    free(s.attributes);
    if (!s.no_memory) return 0;
    ip_dies_free(out);
    return -1;
}

void ip_dies_free(struct ip_dies *dies) {
    free(dies->rows);
    *dies = (struct ip_dies){0};
}
