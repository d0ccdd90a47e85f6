/* Line number programs of ELF files become one sorted table: see lines.h. */
#include "lines.h"

#include "bytes.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "ip-lines-1\0\0\0\0\0"

enum { LNCT_PATH = 1, LNCT_DIRECTORY_INDEX };
enum {
    LNS_COPY = 1,
    LNS_ADVANCE_PC,
    LNS_ADVANCE_LINE,
    LNS_SET_FILE,
    LNS_SET_COLUMN,
    LNS_NEGATE_STMT,
    LNS_SET_BASIC_BLOCK,
    LNS_CONST_ADD_PC,
    LNS_FIXED_ADVANCE_PC
};
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS };

static const char *text_at(const char *section, uint64_t size, uint64_t offset) {
    return offset < size && memchr(section + offset, 0, size - offset) ? section + offset : "";
}

/* ---- What comes out --------------------------------------------------------------------------- */

struct sequence {
    uint64_t start, end, first, n;
};

struct builder {
    const struct ip_line_sections *in;
    struct ip_line_row *rows;
    uint64_t n_rows, rows_room;
    struct sequence *sequences;
    uint64_t n_sequences, sequences_room;
    uint32_t *files, *hash; /* hash: file + 1 */
    uint64_t n_files, files_room, hash_size;
    char *strings;
    uint64_t strings_size, strings_room;
    int failed; /* no memory */
};

/* Room for n more in an array that has used of room. */
static int grow(struct builder *b, void **array, uint64_t *room, uint64_t used, uint64_t n, uint64_t each) {
    if (used + n <= *room) return 1;
    uint64_t more = *room * 2 > used + n ? *room * 2 : used + n + 1024;
    void *fresh = realloc(*array, more * each);
    if (!fresh) {
        b->failed = 1;
        return 0;
    }
    *array = fresh;
    *room = more;
    return 1;
}

static uint64_t text_hash(const char *s) {
    uint64_t h = 0xcbf29ce484222325ull;
    while (*s) h = (h ^ (uint8_t)*s++) * 0x100000001b3ull;
    return h ^ h >> 29;
}

static int rehash(struct builder *b) {
    uint64_t size = b->hash_size ? 2 * b->hash_size : 1024;
    uint32_t *hash = calloc(size, sizeof *hash);
    if (!hash) {
        b->failed = 1;
        return 0;
    }
    for (uint32_t i = 1; i < b->n_files; i++) {
        uint64_t h = text_hash(b->strings + b->files[i]);
        while (hash[h & (size - 1)]) h++;
        hash[h & (size - 1)] = i + 1;
    }
    free(b->hash);
    b->hash = hash;
    b->hash_size = size;
    return 1;
}

/* The number of the path that strings ends with, from strings_size on. */
static uint32_t file_number(struct builder *b) {
    const char *path = b->strings + b->strings_size;
    uint64_t bytes = strlen(path) + 1;
    if (2 * b->n_files >= b->hash_size && !rehash(b)) return 0;
    uint64_t h = text_hash(path);
    for (; b->hash[h & (b->hash_size - 1)]; h++) {
        uint32_t i = b->hash[h & (b->hash_size - 1)] - 1;
        if (strcmp(b->strings + b->files[i], path) == 0) return i;
    }
    if (b->strings_size + bytes > UINT32_MAX || b->n_files >= UINT32_MAX - 1) return 0;
    if (!grow(b, (void **)&b->files, &b->files_room, b->n_files, 1, sizeof *b->files)) return 0;
    b->files[b->n_files] = (uint32_t)b->strings_size;
    b->strings_size += bytes;
    b->hash[h & (b->hash_size - 1)] = (uint32_t)b->n_files + 1;
    return (uint32_t)b->n_files++;
}

static void add_text(struct builder *b, uint64_t *used, const char *text) {
    uint64_t bytes = strlen(text);
    if (!grow(b, (void **)&b->strings, &b->strings_room, *used, bytes + 1, 1)) return;
    memcpy(b->strings + *used, text, bytes + 1);
    *used += bytes;
}

/* The parts of a path; directories are joined as they are, which is how Valgrind shows them. */
static uint32_t joined(struct builder *b, const char *home, const char *directory, const char *name) {
    uint64_t used = b->strings_size;
    const char *parts[3] = {home, directory, name};
    int from = name[0] == '/' ? 2 : directory && directory[0] == '/' ? 1 : 0;
    for (int i = from; i < 3; i++) {
        if (!parts[i] || !parts[i][0]) continue;
        if (used > b->strings_size && b->strings[used - 1] != '/') add_text(b, &used, "/");
        add_text(b, &used, parts[i]);
    }
    if (used == b->strings_size) return 0;
    return b->failed ? 0 : file_number(b);
}

/* ---- A program ----------------------------------------------------------------------------------- */

struct file {
    const char *name;
    uint64_t directory;
    uint32_t number; /* in the table; UINT32_MAX: not asked for yet */
};

struct program {
    struct cursor code;
    uint8_t version, step, line_range, opcode_base, offset_size;
    int8_t line_base;
    uint8_t operands[256];
    const char *home;
    const char **directories;
    struct file *files;
    uint64_t n_directories, directories_room, n_files, files_room;
};

/* A value of the tables of version 5: text, or a number. */
static int value(struct builder *b, struct program *p, struct cursor *c, uint64_t form, const char **text,
                 uint64_t *n) {
    switch (form) {
    case 0x08: *text = string(c); return 1;
    case 0x0e: *text = text_at(b->in->str, b->in->str_size, fixed(c, p->offset_size)); return 1;
    case 0x1f: *text = text_at(b->in->line_str, b->in->line_str_size, fixed(c, p->offset_size)); return 1;
    case 0x0b: *n = fixed(c, 1); return 1;
    case 0x05: *n = fixed(c, 2); return 1;
    case 0x06: *n = fixed(c, 4); return 1;
    case 0x07: *n = fixed(c, 8); return 1;
    case 0x0f: *n = uleb(c); return 1;
    case 0x1e: skip(c, 16); return 1;
    case 0x09: skip(c, uleb(c)); return 1;
    default: return 0;
    }
}

static void add_directory(struct builder *b, struct program *p, const char *name) {
    if (grow(b, (void **)&p->directories, &p->directories_room, p->n_directories, 1, sizeof *p->directories))
        p->directories[p->n_directories++] = name;
}

static void add_file(struct builder *b, struct program *p, const char *name, uint64_t directory) {
    if (grow(b, (void **)&p->files, &p->files_room, p->n_files, 1, sizeof *p->files))
        p->files[p->n_files++] = (struct file){name, directory, UINT32_MAX};
}

static int read_entries(struct builder *b, struct program *p, struct cursor *c, int are_files) {
    uint64_t formats[256][2], n_formats = fixed(c, 1);
    for (uint64_t i = 0; i < n_formats; i++) {
        formats[i][0] = uleb(c);
        formats[i][1] = uleb(c);
    }
    uint64_t n = n_formats ? uleb(c) : 0;
    for (uint64_t i = 0; i < n && !c->failed && !b->failed; i++) {
        const char *name = "";
        uint64_t directory = 0;
        for (uint64_t k = 0; k < n_formats; k++) {
            const char *text = "";
            uint64_t number = 0;
            if (!value(b, p, c, formats[k][1], &text, &number)) return 0;
            if (formats[k][0] == LNCT_PATH) name = text;
            if (formats[k][0] == LNCT_DIRECTORY_INDEX) directory = number;
        }
        if (are_files)
            add_file(b, p, name, directory);
        else
            add_directory(b, p, name);
    }
    return !c->failed && !b->failed;
}

static const char *home_of(const struct ip_line_sections *in, uint64_t offset) {
    uint64_t lo = 0, hi = in->n_homes;
    while (lo < hi) {
        uint64_t mid = (lo + hi) / 2;
        if (in->homes[mid] < offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < in->n_homes && in->homes[lo] == offset ? in->home_names + in->home_from[lo] : "";
}

static int read_tables(struct builder *b, struct program *p, struct cursor *c, uint64_t offset) {
    p->n_directories = p->n_files = 0;
    if (p->version >= 5) {
        if (!read_entries(b, p, c, 0)) return 0;
        p->home = p->n_directories ? p->directories[0] : "";
        return read_entries(b, p, c, 1);
    }
    p->home = home_of(b->in, offset);
    add_directory(b, p, "");
    for (const char *name; (name = string(c))[0];) add_directory(b, p, name);
    add_file(b, p, "", 0); /* numbers start at 1 */
    for (const char *name; (name = string(c))[0];) {
        add_file(b, p, name, uleb(c));
        uleb(c), uleb(c);
    }
    return !c->failed && !b->failed;
}

/* Read a program's head; c goes to the next one.  0: its tables cannot be read. */
static int read_head(struct cursor *c, struct program *p, struct cursor *tables) {
    uint64_t length = fixed(c, 4);
    p->offset_size = 4;
    if (length == 0xffffffff) {
        length = fixed(c, 8);
        p->offset_size = 8;
    }
    struct cursor own = {c->at, c->end, c->failed};
    if (length < (uint64_t)(own.end - own.at)) own.end = own.at + length;
    c->at = own.end;
    p->version = (uint8_t)fixed(&own, 2);
    if (own.failed || p->version < 2 || p->version > 5) return 0;
    if (p->version >= 5) fixed(&own, 2);
    uint64_t head = fixed(&own, p->offset_size);
    p->code = own;
    skip(&p->code, head);
    p->step = (uint8_t)fixed(&own, 1);
    if (p->version >= 4) fixed(&own, 1);
    fixed(&own, 1);
    p->line_base = (int8_t)fixed(&own, 1);
    p->line_range = (uint8_t)fixed(&own, 1);
    p->opcode_base = (uint8_t)fixed(&own, 1);
    if (!p->line_range) p->line_range = 1;
    for (unsigned i = 1; i < p->opcode_base; i++) p->operands[i] = (uint8_t)fixed(&own, 1);
    *tables = own;
    return !own.failed && !p->code.failed;
}

static uint32_t number_of(struct builder *b, struct program *p, uint64_t file) {
    if (file >= p->n_files) return 0;
    struct file *f = &p->files[file];
    if (f->number == UINT32_MAX) {
        /* Directory 0 of version 5 is the home itself, joined like any other: Valgrind shows ./stdlib/./stdlib where
         * the home is relative. */
        const char *directory = f->directory < p->n_directories ? p->directories[f->directory] : "";
        f->number = joined(b, p->home, directory, f->name);
    }
    return f->number;
}

static int is_code(const struct ip_line_sections *in, uint64_t address) {
    for (uint64_t i = 0; i < in->n_ranges; i++)
        if (in->ranges[2 * i] <= address && address < in->ranges[2 * i + 1]) return 1;
    return 0;
}

static void add_row(struct builder *b, uint64_t first, uint64_t address, uint32_t file, uint32_t line) {
    if (!line || !file) file = line = 0;
    if (b->n_rows > first) {
        struct ip_line_row *before = &b->rows[b->n_rows - 1];
        if (address < before->start) return;
        if (address == before->start) {
            b->n_rows--; /* the last word about an address counts */
            if (b->n_rows > first) before--;
        }
        if (b->n_rows > first && before->file == file && before->line == line) return;
    }
    if (grow(b, (void **)&b->rows, &b->rows_room, b->n_rows, 1, sizeof *b->rows))
        b->rows[b->n_rows++] = (struct ip_line_row){address, file, line};
}

static void end_sequence(struct builder *b, uint64_t first, uint64_t end) {
    if (b->n_rows > first && end > b->rows[b->n_rows - 1].start && is_code(b->in, b->rows[first].start) &&
        grow(b, (void **)&b->sequences, &b->sequences_room, b->n_sequences, 1, sizeof *b->sequences))
        b->sequences[b->n_sequences++] = (struct sequence){b->rows[first].start, end, first, b->n_rows - first};
    else
        b->n_rows = first;
}

/* The state machine of 6.2.5. */
static void run(struct builder *b, struct program *p) {
    struct cursor *c = &p->code;
    uint64_t address = 0, file = 1, first = b->n_rows;
    int64_t line = 1;
    while (c->at < c->end && !c->failed && !b->failed) {
        uint8_t opcode = *c->at++;
        if (opcode >= p->opcode_base) {
            unsigned special = opcode - p->opcode_base;
            address += (uint64_t)(special / p->line_range) * p->step;
            line += p->line_base + (int)(special % p->line_range);
            add_row(b, first, address, number_of(b, p, file), (uint32_t)line);
            continue;
        }
        switch (opcode) {
        case 0: {
            uint64_t size = uleb(c);
            struct cursor own = {c->at, c->end, 0};
            skip(c, size);
            own.end = c->at;
            uint64_t extended = fixed(&own, 1);
            if (extended == LNE_END_SEQUENCE) {
                end_sequence(b, first, address);
                first = b->n_rows;
                address = 0, file = 1, line = 1;
            } else if (extended == LNE_SET_ADDRESS) {
                address = fixed(&own, size - 1);
            }
            break;
        }
        case LNS_COPY: add_row(b, first, address, number_of(b, p, file), (uint32_t)line); break;
        case LNS_ADVANCE_PC: address += uleb(c) * p->step; break;
        case LNS_ADVANCE_LINE: line += sleb(c); break;
        case LNS_SET_FILE: file = uleb(c); break;
        case LNS_CONST_ADD_PC: address += (uint64_t)((255 - p->opcode_base) / p->line_range) * p->step; break;
        case LNS_FIXED_ADVANCE_PC: address += fixed(c, 2); break;
        default:
            for (unsigned i = 0; i < p->operands[opcode]; i++) uleb(c);
        }
    }
    end_sequence(b, first, b->n_rows > first ? b->rows[b->n_rows - 1].start + 1 : 0);
}

/* ---- The whole ------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b) {
    const struct sequence *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

struct head {
    char magic[16];
    uint64_t n_rows, n_files, strings_size;
};

static int finish(struct builder *b, struct ip_lines *out) {
    if (b->n_sequences) qsort(b->sequences, b->n_sequences, sizeof *b->sequences, by_start);
    uint64_t most = b->n_rows + b->n_sequences + 1;
    uint64_t bytes = sizeof(struct head) + most * sizeof *b->rows + b->n_files * sizeof *b->files + b->strings_size;
    uint8_t *whole = malloc(bytes);
    if (!whole) return -1;
    struct head *head = (struct head *)whole;
    struct ip_line_row *rows = (struct ip_line_row *)(head + 1);
    uint64_t n = 0, end = 0;
    for (uint64_t i = 0; i < b->n_sequences; i++) {
        const struct sequence *s = &b->sequences[i];
        if (s->start < end) continue; /* of what overlaps the first counts */
        if (n && end < s->start) rows[n++] = (struct ip_line_row){end, 0, 0};
        memcpy(rows + n, b->rows + s->first, s->n * sizeof *rows);
        n += s->n;
        end = s->end;
    }
    if (n) rows[n++] = (struct ip_line_row){end, 0, 0};
    *head = (struct head){MAGIC, n, b->n_files, b->strings_size};
    uint8_t *to = (uint8_t *)(rows + n);
    memcpy(to, b->files, b->n_files * sizeof *b->files);
    to += b->n_files * sizeof *b->files;
    memcpy(to, b->strings, b->strings_size);
    return ip_lines_open(whole, (uint64_t)(to - whole) + b->strings_size, out);
}

int ip_lines_want_homes(const struct ip_line_sections *in) {
    struct cursor c = {in->line, in->line + in->line_size, 0}, tables;
    struct program p = {0};
    while (c.at < c.end && !c.failed)
        if (read_head(&c, &p, &tables) && p.version < 5) return 1;
    return 0;
}

int ip_lines_read(const struct ip_line_sections *in, struct ip_lines *out) {
    struct builder b = {.in = in};
    struct program p = {0};
    struct cursor c = {in->line, in->line + in->line_size, 0}, tables;
    memset(out, 0, sizeof *out);
    if (grow(&b, (void **)&b.strings, &b.strings_room, 0, 1, 1) &&
        grow(&b, (void **)&b.files, &b.files_room, 0, 1, sizeof *b.files)) {
        b.strings[b.strings_size++] = 0;
        b.files[b.n_files++] = 0;
    }
    while (c.at < c.end && !c.failed && !b.failed) {
        uint64_t offset = (uint64_t)(c.at - in->line);
        if (read_head(&c, &p, &tables) && read_tables(&b, &p, &tables, offset)) run(&b, &p);
    }
    int result = b.failed ? -1 : finish(&b, out);
    free(b.rows);
    free(b.sequences);
    free(b.files);
    free(b.hash);
    free(b.strings);
    free(p.directories);
    free(p.files);
    return result;
}

int ip_lines_open(const uint8_t *whole, uint64_t size, struct ip_lines *out) {
    const struct head *head = (const struct head *)whole;
    memset(out, 0, sizeof *out);
    if (size < sizeof *head || memcmp(head->magic, MAGIC, sizeof head->magic) != 0) return -1;
    const uint64_t room = size - sizeof *head;
    if (head->n_rows > room / sizeof(struct ip_line_row) || head->n_files > room / 4 || head->strings_size > room ||
        !head->n_files || !head->strings_size ||
        head->n_rows * sizeof(struct ip_line_row) + head->n_files * 4 + head->strings_size != room)
        return -1;
    out->n_rows = head->n_rows;
    out->n_files = head->n_files;
    out->strings_size = head->strings_size;
    out->rows = (const struct ip_line_row *)(head + 1);
    out->files = (const uint32_t *)(out->rows + out->n_rows);
    out->strings = (const char *)(out->files + out->n_files);
    out->whole = whole;
    out->whole_size = size;
    return out->strings[out->strings_size - 1] ? -1 : 0;
}

const struct ip_line_row *ip_lines_find(const struct ip_lines *t, uint64_t address) {
    uint64_t lo = 0, hi = t->n_rows;
    while (lo < hi) {
        uint64_t mid = (lo + hi) / 2;
        if (t->rows[mid].start <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    const struct ip_line_row *row = lo ? &t->rows[lo - 1] : NULL;
    return row && row->file && row->file < t->n_files ? row : NULL;
}

const char *ip_lines_path(const struct ip_lines *t, uint32_t file) {
    return file < t->n_files && t->files[file] < t->strings_size ? t->strings + t->files[file] : "";
}

void ip_lines_free(struct ip_lines *t) {
    free((void *)t->whole);
    memset(t, 0, sizeof *t);
}
