/* Rows become the body of a profile: see body.h, and docs/spec/traces.md for the format. */
#include "body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect.h"
#include "elf/lines.h"
#include "elf/symtab.h"

#define UNKNOWN "???"

/* ---- Names ------------------------------------------------------------------------------------- */

enum kind { OBJECT, FILE_NAME, FUNCTION, KINDS };

struct text {
    char *shown;
    uint32_t number, part; /* the number that it has in the file; the part that said it last */
    uint8_t kind;
};

/* Texts of the files of a line table, by their numbers there; 0: not asked for yet. */
struct files {
    const struct ip_lines *lines;
    uint32_t *texts;
};

struct cg_writer {
    struct cg_form form;
    struct text *texts; /* from 1 on */
    uint32_t *hash;
    struct files *files;
    uint64_t n_texts, texts_room, hash_size, n_files;
    uint32_t numbers[KINDS], part;
    int error;
    /* What the next line is relative to. */
    uint32_t object, file, home;
    uint64_t addr, line;
    int fresh; /* positions are to be absolute */
    /* What is not written yet. */
    int fd;
    size_t used;
    char buffer[1 << 16];
};

static uint64_t hash_of(enum kind kind, const char *s, uint64_t bytes) {
    uint64_t h = 0xcbf29ce484222325ull + kind;
    for (uint64_t i = 0; i < bytes; i++) h = (h ^ (uint8_t)s[i]) * 0x100000001b3ull;
    return h ^ h >> 29;
}

static int make_room(struct cg_writer *w) {
    if (w->n_texts + 1 >= w->texts_room) {
        uint64_t room = w->texts_room ? 2 * w->texts_room : 1024;
        struct text *more = realloc(w->texts, room * sizeof *more);
        if (!more) return 0;
        w->texts = more;
        w->texts_room = room;
    }
    if (2 * w->n_texts >= w->hash_size) {
        uint64_t size = w->hash_size ? 2 * w->hash_size : 2048;
        uint32_t *hash = calloc(size, sizeof *hash);
        if (!hash) return 0;
        for (uint32_t i = 1; i <= w->n_texts; i++) {
            const struct text *t = &w->texts[i];
            uint64_t h = hash_of(t->kind, t->shown, strlen(t->shown));
            while (hash[h & (size - 1)]) h++;
            hash[h & (size - 1)] = i;
        }
        free(w->hash);
        w->hash = hash;
        w->hash_size = size;
    }
    return 1;
}

/* The number of a text among w->texts; it is kept as it can stand in one line: without blanks before it, which are not
 * read, and with the ends of lines shown.  0: no memory. */
static uint32_t text_number(struct cg_writer *w, enum kind kind, const char *s) {
    s += strspn(s, " \t");
    char *shown = make_room(w) ? malloc(2 * strlen(s) + 1) : NULL;
    if (!shown) {
        w->error = ENOMEM;
        return 0;
    }
    uint64_t n = 0;
    for (; *s; s++) {
        if (*s == '\n' || *s == '\r') {
            shown[n++] = '\\';
            shown[n++] = *s == '\n' ? 'n' : 'r';
        } else {
            shown[n++] = *s;
        }
    }
    shown[n] = 0;
    uint64_t h = hash_of(kind, shown, n);
    for (uint32_t i; (i = w->hash[h & (w->hash_size - 1)]); h++)
        if (w->texts[i].kind == kind && strcmp(w->texts[i].shown, shown) == 0) {
            free(shown);
            return i;
        }
    w->texts[++w->n_texts] = (struct text){.shown = shown, .kind = kind};
    w->hash[h & (w->hash_size - 1)] = (uint32_t)w->n_texts;
    return (uint32_t)w->n_texts;
}

/* What is known of a line table's files; NULL: no memory. */
static struct files *files_of(struct cg_writer *w, const struct ip_lines *lines) {
    for (uint64_t i = 0; i < w->n_files; i++)
        if (w->files[i].lines == lines) return &w->files[i];
    struct files *more = realloc(w->files, (w->n_files + 1) * sizeof *more);
    if (more) w->files = more;
    uint32_t *texts = more ? calloc(lines->n_files + 1, sizeof *texts) : NULL;
    if (!texts) {
        w->error = ENOMEM;
        return NULL;
    }
    w->files[w->n_files] = (struct files){lines, texts};
    return &w->files[w->n_files++];
}

/* ---- Text ---------------------------------------------------------------------------------------- */

static void drain(struct cg_writer *w) {
    for (size_t done = 0; done < w->used && !w->error;) {
        ssize_t n = write(w->fd, w->buffer + done, w->used - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            w->error = errno;
        else
            done += (size_t)n;
    }
    w->used = 0;
}

static void put_bytes(struct cg_writer *w, const char *s, size_t n) {
    while (n) {
        if (w->used == sizeof w->buffer) drain(w);
        size_t some = sizeof w->buffer - w->used < n ? sizeof w->buffer - w->used : n;
        memcpy(w->buffer + w->used, s, some);
        w->used += some;
        s += some;
        n -= some;
    }
}

static void put(struct cg_writer *w, const char *s) { put_bytes(w, s, strlen(s)); }

static void put_number(struct cg_writer *w, uint64_t value, unsigned base) {
    char digits[24], *at = digits + sizeof digits;
    do *--at = "0123456789abcdef"[value % base];
    while (value /= base);
    put_bytes(w, at, (size_t)(digits + sizeof digits - at));
}

static void put_name(struct cg_writer *w, const char *key, uint32_t number) {
    struct text *t = &w->texts[number];
    put(w, key);
    const char *s = t->shown;
    /* What looks like a compressed name has to be one. */
    int is_alike = s[0] == '(' && s[1] >= '0' && s[1] <= '9';
    if (*s && (w->form.compress_names || is_alike)) {
        if (!t->number) t->number = ++w->numbers[t->kind];
        put(w, "(");
        put_number(w, t->number, 10);
        put(w, ")");
        if (t->part != w->part) {
            t->part = w->part;
            put(w, " ");
            put(w, s);
        }
    } else {
        put(w, s);
    }
    put(w, "\n");
}

static void put_relative(struct cg_writer *w, uint64_t value, uint64_t base, int is_address) {
    if (w->fresh || !w->form.compress_pos) {
        if (is_address) put(w, "0x");
        put_number(w, value, is_address ? 16 : 10);
    } else if (value == base) {
        put(w, "*");
    } else {
        put(w, value > base ? "+" : "-");
        put_number(w, value > base ? value - base : base - value, 10);
    }
    put(w, " ");
}

static void put_position(struct cg_writer *w, uint64_t addr, uint64_t line) {
    if (w->form.with_instr) put_relative(w, addr, w->addr, 1);
    if (w->form.with_line) put_relative(w, line, w->line, 0);
}

static void put_costs(struct cg_writer *w, uint64_t addr, uint64_t line, const uint64_t *costs, uint32_t n) {
    put_position(w, addr, line);
    while (n && !costs[n - 1]) n--;
    for (uint32_t i = 0; i < n; i++) {
        if (i) put(w, " ");
        put_number(w, costs[i], 10);
    }
    put(w, "\n");
    w->addr = addr;
    w->line = line;
    w->fresh = 0;
}

/* ---- Sources --------------------------------------------------------------------------------------- */

struct source {
    uint32_t text, line; /* line 0: not known, and text is 0 */
};

/* Of a context: its names, and what is known of its object's files. */
struct owner {
    const struct cg_where *where;
    uint32_t *texts;               /* of the object's files */
    const struct ip_line_row *row; /* found last: the next question is about an address behind it, as a rule */
    uint32_t object, file, name;
};

/* The link-time address of code of the context's object. */
static uint64_t vaddr_of(const struct cg_where *where, uint64_t pc) {
    const struct cg_object *o = where->object;
    for (uint64_t i = 0; o && i < o->n_placed; i++)
        if (o->placed[i].start <= pc && pc < o->placed[i].end) return pc - o->placed[i].bias;
    return o && o->n_placed ? pc - o->placed[0].bias : pc;
}

static const struct ip_lines *lines_of(const struct cg_where *where) {
    return where->object ? where->object->lines : NULL;
}

static const struct ip_line_row *line_at(struct owner *o, uint64_t vaddr) {
    const struct ip_lines *lines = lines_of(o->where);
    if (!lines) return NULL;
    const struct ip_line_row *row = o->row, *end = lines->rows + lines->n_rows;
    for (int i = 0; row && i < 4 && row + 1 < end && row->start <= vaddr; i++, row++)
        if (vaddr < row[1].start) return o->row = row;
    return o->row = ip_lines_find(lines, vaddr);
}

static struct source source_at(struct cg_writer *w, struct owner *o, uint64_t vaddr) {
    const struct ip_lines *lines = lines_of(o->where);
    const struct ip_line_row *row = line_at(o, vaddr);
    if (!row || !row->file || row->file >= lines->n_files) return (struct source){0};
    uint32_t *text = &o->texts[row->file];
    if (!*text) *text = text_number(w, FILE_NAME, ip_lines_path(lines, row->file));
    return (struct source){*text, row->line};
}

static struct source source_of(struct cg_writer *w, struct owner *o, uint64_t pc) {
    return source_at(w, o, vaddr_of(o->where, pc));
}

static struct owner owner_of(struct cg_writer *w, const struct cg_where *where) {
    struct owner o = {.where = where};
    if (lines_of(where)) {
        struct files *files = files_of(w, lines_of(where));
        if (!files) return o;
        o.texts = files->texts;
    }
    o.object = text_number(w, OBJECT, where->object ? where->object->path : UNKNOWN);
    o.name = text_number(w, FUNCTION, where->name);
    struct source s = {0};
    if (where->start != ~0ull) s = source_at(w, &o, where->start);
    o.file = s.text ? s.text : text_number(w, FILE_NAME, UNKNOWN);
    return o;
}

static int64_t function_at(const struct cg_where *where, uint64_t pc) {
    const struct cg_object *o = where->object;
    int64_t function = ip_symbol_at(o->code, vaddr_of(where, pc));
    return function >= 0 && o->same ? (int64_t)o->same[function] : function;
}

/* A jump elsewhere is a call. */
static int is_within(const struct cg_where *where, uint64_t pc) {
    return !where->object || function_at(where, pc) == where->function;
}

/* ---- Lines of a profile ------------------------------------------------------------------------------ */

struct body {
    struct cg_writer *w;
    const struct cg_taken *t;
    struct owner *owners; /* by number of context, less one; .object 0: not asked for yet */
    const struct cg_where *where;
    uint32_t n_events;
};

static struct owner *owner(struct body *b, uint32_t context) {
    struct owner *o = &b->owners[context - 1];
    if (!o->object) *o = owner_of(b->w, &b->where[context - 1]);
    return o;
}

static void in_file(struct cg_writer *w, uint32_t file) {
    if (file == w->file) return;
    put_name(w, file == w->home ? "fe=" : "fi=", file);
    w->file = file;
}

static void put_function(struct cg_writer *w, const struct owner *o) {
    put(w, "\n");
    if (o->object != w->object) put_name(w, "ob=", o->object);
    if (o->file != w->file) put_name(w, "fl=", o->file);
    put_name(w, "fn=", o->name);
    w->object = o->object;
    w->file = w->home = o->file;
    w->fresh = 1;
}

static int is_nothing(const uint64_t *costs, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (costs[i]) return 0;
    return 1;
}

static const uint64_t *costs_of(const struct cg_row *r) { return (const uint64_t *)(r + 1); }

static void put_call(struct body *b, const struct cg_row *r, uint64_t addr, uint64_t line, const uint64_t *costs) {
    struct cg_writer *w = b->w;
    struct owner *there = owner(b, r->callee);
    if (w->error) return;
    if (there->object != w->object) put_name(w, "cob=", there->object);
    if (there->file != w->file) put_name(w, "cfi=", there->file);
    put_name(w, "cfn=", there->name);
    put(w, "calls=");
    put_number(w, r->count, 10);
    put(w, " ");
    put_position(w, r->target ? vaddr_of(there->where, r->target) : 0, source_of(w, there, r->target).line);
    put(w, "\n");
    put_costs(w, addr, line, costs, b->n_events);
}

/* A jump that was never taken: Valgrind leaves these out, too. */
static int is_passed(const struct cg_row *r) { return r->kind == CG_COND_JUMPS && !r->followed; }

static void put_jump(struct body *b, const struct cg_row *r, uint64_t target, struct source there, uint64_t addr,
                     uint64_t line) {
    struct cg_writer *w = b->w;
    if (is_passed(r)) return;
    if (there.text && there.text != w->file) put_name(w, "jfi=", there.text);
    if (r->kind == CG_COND_JUMPS) {
        put(w, "jcnd=");
        put_number(w, r->followed, 10);
        put(w, "/");
    } else {
        put(w, "jump=");
    }
    put_number(w, r->count, 10);
    put(w, " ");
    put_position(w, target, there.line);
    put(w, "\n");
    put_costs(w, addr, line, NULL, 0);
}

static const struct cg_row *row_at(const struct cg_taken *t, uint64_t i) {
    return (const struct cg_row *)(t->rows + i * t->row_bytes);
}

static void by_instruction(struct body *b, struct owner *o, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to && !b->w->error; i++) {
        const struct cg_row *r = row_at(b->t, i);
        struct source s = source_of(b->w, o, r->pc);
        uint64_t addr = vaddr_of(o->where, r->pc);
        if (r->kind == CG_COST ? is_nothing(costs_of(r), b->n_events)
                               : r->kind != CG_CALLS && !is_within(o->where, r->target))
            continue;
        in_file(b->w, s.text ? s.text : o->file);
        if (r->kind == CG_COST)
            put_costs(b->w, addr, s.line, costs_of(r), b->n_events);
        else if (r->kind == CG_CALLS)
            put_call(b, r, addr, s.line, costs_of(r));
        else
            put_jump(b, r, vaddr_of(o->where, r->target), source_of(b->w, o, r->target), addr, s.line);
    }
}

/* A row, or the costs of some that follow each other, by what its line in the profile is. */
struct entry {
    struct source from, to; /* to: of jumps */
    uint64_t target, row;
    uint32_t kind, callee, is_away, rows;
};

static int by_place(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
#define BY(field)                                                                                                      \
    if (x->field != y->field) return x->field < y->field ? -1 : 1
    BY(is_away);
    BY(from.text);
    BY(from.line);
    return 0;
}

static int by_entry(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int places = by_place(a, b);
    if (places) return places;
    /* Costs, jumps, calls. */
    uint32_t p = x->kind == CG_COST ? 0 : x->kind == CG_CALLS ? 2 : 1;
    uint32_t q = y->kind == CG_COST ? 0 : y->kind == CG_CALLS ? 2 : 1;
    if (p != q) return p < q ? -1 : 1;
    BY(kind);
    BY(callee);
    BY(target);
    BY(to.text);
    BY(to.line);
#undef BY
    return 0;
}

static int by_entry_and_row(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int order = by_entry(a, b);
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

static void by_line(struct body *b, struct owner *o, uint64_t from, uint64_t to) {
    struct cg_writer *w = b->w;
    struct entry *entries = malloc((to - from) * sizeof *entries);
    uint64_t n = 0, *sums = malloc(b->n_events * sizeof *sums);
    if (!entries || !sums) w->error = ENOMEM;
    for (uint64_t i = from; i < to && !w->error; i++) {
        const struct cg_row *r = row_at(b->t, i);
        struct entry e = {.from = source_of(w, o, r->pc), .row = i, .kind = r->kind, .rows = 1};
        e.is_away = e.from.text && e.from.text != o->file;
        if (r->kind == CG_CALLS) {
            e.callee = r->callee;
            e.target = r->target;
        } else if (r->kind != CG_COST) {
            if (!is_within(o->where, r->target)) continue;
            e.to = source_of(w, o, r->target);
        } else if (n && entries[n - 1].row + entries[n - 1].rows == i && by_entry(&entries[n - 1], &e) == 0) {
            entries[n - 1].rows++;
            continue;
        }
        entries[n++] = e;
    }
    if (n) qsort(entries, n, sizeof *entries, by_entry_and_row);
    for (uint64_t i = 0, next; i < n && !w->error; i = next) {
        const struct entry *e = &entries[i];
        struct cg_row whole = *row_at(b->t, e->row);
        whole.count = whole.followed = 0;
        memset(sums, 0, b->n_events * sizeof *sums);
        for (next = i; next < n && by_entry(e, &entries[next]) == 0; next++) {
            for (uint32_t j = 0; j < entries[next].rows; j++) {
                const struct cg_row *r = row_at(b->t, entries[next].row + j);
                whole.count += r->count;
                whole.followed += r->followed;
                for (uint32_t k = 0; k < b->n_events; k++) sums[k] += costs_of(r)[k];
            }
        }
        if ((e->kind == CG_COST && is_nothing(sums, b->n_events)) || is_passed(&whole)) continue;
        in_file(w, e->from.text ? e->from.text : o->file);
        if (e->kind == CG_COST)
            put_costs(w, 0, e->from.line, sums, b->n_events);
        else if (e->kind == CG_CALLS)
            put_call(b, &whole, 0, e->from.line, sums);
        else
            put_jump(b, &whole, 0, e->to, 0, e->from.line);
    }
    free(entries);
    free(sums);
}

/* ---- The whole ------------------------------------------------------------------------------------- */

struct cg_writer *cg_writer_new(struct cg_form form) {
    struct cg_writer *w = calloc(1, sizeof *w);
    if (w) w->form = form;
    return w;
}

void cg_writer_free(struct cg_writer *w) {
    if (!w) return;
    for (uint64_t i = 1; i <= w->n_texts; i++) free(w->texts[i].shown);
    for (uint64_t i = 0; i < w->n_files; i++) free(w->files[i].texts);
    free(w->texts);
    free(w->hash);
    free(w->files);
    free(w);
}

void cg_writer_part(struct cg_writer *w) {
    w->part++;
    w->object = w->file = w->home = 0;
}

int cg_write_body(struct cg_writer *w, const struct cg_taken *t, const struct cg_where *where, int fd) {
    struct body b = {.w = w, .t = t, .where = where, .n_events = w->form.n_events};
    b.owners = calloc(t->n_names + 1, sizeof *b.owners);
    w->fd = fd;
    w->error = b.owners ? 0 : ENOMEM;
    for (uint64_t i = 0, next; i < t->n_rows && !w->error; i = next) {
        uint32_t context = row_at(t, i)->context;
        for (next = i; next < t->n_rows && row_at(t, next)->context == context;) next++;
        struct owner *o = owner(&b, context);
        if (w->error) break;
        put_function(w, o);
        if (w->form.with_instr)
            by_instruction(&b, o, i, next);
        else
            by_line(&b, o, i, next);
    }
    drain(w);
    free(b.owners);
    return w->error;
}
