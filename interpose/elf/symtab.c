/* Symbol tables of ELF files: System V gABI, chapter 4, and the GNU extension for symbol versions. */
#include "elf/symtab.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "jit/keysort.h"
#include "jit/lastwords.h"

#define VERSION_HIDDEN 0x8000u

struct name {                   /* a symbol's name and version, which need not end with a NUL */
    const char *bare, *version; /* version: NULL if it has none */
    size_t bare_len, version_len;
    bool is_default;
};

/* ---- Reading a table --------------------------------------------------------------------------- */

static Elf64_Sym symbol_at(const struct ip_symtab *t, uint64_t i) {
    Elf64_Sym s;
    memcpy(&s, t->symbols + i * sizeof s, sizeof s);
    return s;
}

uint64_t ip_symtab_misnamed(const struct ip_symtab *t) {
    const char *last = t->strings_size ? memrchr(t->strings, 0, t->strings_size) : NULL;
    uint64_t end = last ? (uint64_t)(last - t->strings) + 1 : 0;
    for (uint64_t i = 1; i < t->count; i++)
        if (symbol_at(t, i).st_name >= end) return i;
    return 0;
}

static uint32_t version_index(const struct ip_symtab *t, uint64_t i) {
    uint16_t v;
    memcpy(&v, t->versions + i * sizeof v, sizeof v);
    return v;
}

/* `name@@VERSION` names the default version, `name@VERSION` another. */
static struct name name_of(const struct ip_symtab *t, uint64_t i, const Elf64_Sym *s) {
    struct name n = {.bare = t->strings + s->st_name};
    n.bare_len = strlen(n.bare);
    if (!t->is_dynamic) {
        const char *at = memchr(n.bare, '@', n.bare_len);
        if (!at) return n;
        const char *end = n.bare + n.bare_len;
        n.bare_len = (size_t)(at - n.bare);
        n.is_default = at[1] == '@';
        const char *version = at + 1 + strspn(at + 1, "@");
        if (version == end) return n;
        n.version = version;
        n.version_len = (size_t)(end - version);
    } else if (t->versions) {
        uint32_t index = version_index(t, i), number = index & ~VERSION_HIDDEN;
        if (number >= t->version_count || t->version_name_from[number] < 0) return n;
        n.version = t->version_names + t->version_name_from[number];
        n.version_len = strlen(n.version);
        n.is_default = s->st_shndx != SHN_UNDEF && !(index & VERSION_HIDDEN);
    }
    return n;
}

static bool is_in(uint64_t value, const uint64_t *ranges, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        if (ranges[2 * i] <= value && value < ranges[2 * i + 1]) return true;
    return false;
}

/* ---- Sets of names ------------------------------------------------------------------------------ */

struct names { /* open addressing */
    struct names_entry {
        const char *text; /* NULL: free */
        uint32_t len, hash;
    } *entries;
    uint64_t n, cap;
};

static uint32_t hash_of(const char *text, size_t len) {
    uint64_t h = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < len; i++) h = (h ^ (uint8_t)text[i]) * 0x100000001b3ull;
    return (uint32_t)(h ^ h >> 32);
}

/* Where a name is or belongs. */
static struct names_entry *names_find(const struct names *set, const struct names_entry *wanted) {
    for (uint64_t h = wanted->hash;; h++) {
        struct names_entry *e = &set->entries[h & (set->cap - 1)];
        if (!e->text) return e;
        if (e->hash == wanted->hash && e->len == wanted->len && memcmp(e->text, wanted->text, wanted->len) == 0)
            return e;
    }
}

static struct names_entry names_key(const char *text, size_t len) {
    return (struct names_entry){text, (uint32_t)len, hash_of(text, len)};
}

static bool names_has(const struct names *set, const char *text, size_t len) {
    struct names_entry wanted = names_key(text, len);
    return set->n && names_find(set, &wanted)->text;
}

/* False if it was there. */
static bool names_add(struct names *set, const char *text, size_t len) {
    if (2 * (set->n + 1) > set->cap) {
        struct names old = *set;
        set->cap = old.cap ? 2 * old.cap : 1024;
        set->entries = ip_alloc(set->cap, sizeof *set->entries);
        for (uint64_t i = 0; i < old.cap; i++)
            if (old.entries[i].text) *names_find(set, &old.entries[i]) = old.entries[i];
        free(old.entries);
    }
    struct names_entry added = names_key(text, len), *e = names_find(set, &added);
    if (e->text) return false;
    *e = added;
    set->n++;
    return true;
}

static uint64_t length_bit(size_t len) { return 1ull << (len < 63 ? len : 63); }

int ip_defines_one_of(const struct ip_symtab *t, const char *names, uint32_t n) {
    if (ip_symtab_misnamed(t)) return 1;
    struct names wanted = {0};
    uint64_t lengths = 0; /* most names differ from all of them in this already */
    for (; n--; names += strlen(names) + 1) {
        size_t len = strlen(names);
        names_add(&wanted, names, len);
        lengths |= length_bit(len);
    }
    bool found = false;
    for (uint64_t i = 1; i < t->count && !found; i++) {
        Elf64_Sym s = symbol_at(t, i);
        if (s.st_shndx == SHN_UNDEF) continue;
        struct name name = name_of(t, i, &s);
        found = lengths & length_bit(name.bare_len) && names_has(&wanted, name.bare, name.bare_len);
    }
    free(wanted.entries);
    return found;
}

/* ---- Columns -------------------------------------------------------------------------------------- */

struct found {
    uint64_t address, size;
    const char *name; /* in the arena */
    uint8_t is_global, is_ifunc, is_text;
};

struct collection {
    struct found *found;
    uint64_t n, cap;
    char **arena; /* names, in pieces that stay where they are */
    uint64_t pieces;
    size_t used, piece;
    uint64_t bytes; /* of all names, their NULs included */
};

static char *arena_take(struct collection *c, size_t n) {
    if (!c->pieces || c->used + n > c->piece) {
        c->piece = n > 1 << 16 ? n : 1 << 16;
        c->used = 0;
        c->arena = ip_realloc(c->arena, (c->pieces + 1) * sizeof *c->arena);
        c->arena[c->pieces++] = ip_alloc(1, c->piece);
    }
    c->used += n;
    return c->arena[c->pieces - 1] + c->used - n;
}

/* The name as reports and rules have it, with its version or without; its length. */
static const char *spelled(struct collection *c, const struct name *n, bool with_version, size_t *len) {
    bool versioned = with_version && n->version;
    if (!versioned && !n->bare[n->bare_len]) {
        *len = n->bare_len;
        return n->bare;
    }
    size_t signs = versioned ? 1 + n->is_default : 0, tail = versioned ? n->version_len : 0;
    char *text = arena_take(c, n->bare_len + signs + tail + 1);
    memcpy(text, n->bare, n->bare_len);
    memcpy(text + n->bare_len, "@@", signs);
    if (tail) memcpy(text + n->bare_len + signs, n->version, tail);
    *len = n->bare_len + signs + tail;
    return text;
}

static void add(struct collection *c, struct found f, size_t name_len) {
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 256;
        c->found = ip_realloc(c->found, c->cap * sizeof *c->found);
    }
    c->found[c->n++] = f;
    c->bytes += name_len + 1;
}

/* Those at one address stay in their order. */
static void sort_by_address(struct collection *c) {
    struct ip_keyed *keys = ip_alloc(2 * c->n + 1, sizeof *keys);
    struct found *sorted = ip_alloc(c->n + 1, sizeof *sorted);
    for (uint64_t i = 0; i < c->n; i++) keys[i] = (struct ip_keyed){c->found[i].address, i};
    ip_sort_keyed(keys, c->n, keys + c->n);
    for (uint64_t i = 0; i < c->n; i++) sorted[i] = c->found[keys[i].item];
    free(keys);
    free(c->found);
    c->found = sorted;
    c->cap = c->n + 1;
}

#define FEW 16 /* names at one address, up to which each is compared with all before it */

/* Is the last of n names one that is not among those before it?  Many are remembered in a set. */
static bool is_new(const struct found *f, uint64_t n, struct names *seen) {
    const char *name = f[n - 1].name;
    if (n <= FEW) {
        for (uint64_t k = 0; k + 1 < n; k++)
            if (strcmp(f[k].name, name) == 0) return false;
        return true;
    }
    if (!seen->n)
        for (uint64_t k = 0; k + 1 < n; k++) names_add(seen, f[k].name, strlen(f[k].name));
    return names_add(seen, name, strlen(name));
}

/* Each name once for an address, where it came first; those of one address are together. */
static void drop_repeated(struct collection *c) {
    uint64_t kept = 0;
    for (uint64_t i = 0, next; i < c->n; i = next) {
        struct names seen = {0};
        struct found *group = c->found + kept;
        uint64_t n = 0;
        for (next = i; next < c->n && c->found[next].address == c->found[i].address; next++) {
            group[n] = c->found[next];
            if (is_new(group, n + 1, &seen)) n++;
        }
        free(seen.entries);
        kept += n;
    }
    c->n = kept;
    c->bytes = 0;
    for (uint64_t i = 0; i < kept; i++) c->bytes += strlen(c->found[i].name) + 1;
}

static void fill(struct collection *c, struct ip_symbols *out) {
    *out = (struct ip_symbols){.count = c->n, .names_size = c->bytes};
    out->address = ip_alloc(c->n + 1, sizeof *out->address);
    out->size = ip_alloc(c->n + 1, sizeof *out->size);
    out->name_from = ip_alloc(c->n + 1, sizeof *out->name_from);
    out->is_global = ip_alloc(c->n + 1, 1);
    out->is_ifunc = ip_alloc(c->n + 1, 1);
    out->is_text = ip_alloc(c->n + 1, 1);
    char *to = out->names = ip_alloc(c->bytes + 1, 1);
    for (uint64_t i = 0; i < c->n; i++) {
        const struct found *f = &c->found[i];
        out->address[i] = f->address;
        out->size[i] = f->size;
        out->name_from[i] = (uint64_t)(to - out->names);
        out->is_global[i] = f->is_global;
        out->is_ifunc[i] = f->is_ifunc;
        out->is_text[i] = f->is_text;
        to = stpcpy(to, f->name) + 1;
    }
    for (uint64_t i = 0; i < c->pieces; i++) free(c->arena[i]);
    free(c->arena);
    free(c->found);
}

void ip_symbols_free(struct ip_symbols *s) {
    free(s->address);
    free(s->size);
    free(s->name_from);
    free(s->is_global);
    free(s->is_ifunc);
    free(s->is_text);
    free(s->names);
    *s = (struct ip_symbols){0};
}

/* ---- Functions for the redirection core -------------------------------------------------------------- */

/* The last symbol of this name, or 0. */
static uint64_t last_named(const struct ip_symtab *t, const char *name) {
    for (uint64_t i = t->count; i-- > 1;)
        if (strcmp(t->strings + symbol_at(t, i).st_name, name) == 0) return i;
    return 0;
}

/* From which symbol on the local ones of a program are those that linking made local.
 *
 * LLVM's linker leaves such a symbol its visibility.  GNU ld forgets it, but puts these symbols behind those of
 * all files, under a file symbol without a name.  Where `strip -g` took the file symbols away, the last file's
 * only symbol, the end of the exception tables in crtend.o, is still where they begin.
 *
 * mold makes local, where they stand, all symbols that nothing outside refers to.  It does so with the program's
 * entry, which no object file has as a local symbol: then the binding says nothing, and all count as global. */
static uint64_t first_made_local(const struct ip_symtab *t) {
    uint64_t from = 0;
    for (uint64_t i = t->count; i-- > 1 && !from;) {
        Elf64_Sym s = symbol_at(t, i);
        if (ELF64_ST_TYPE(s.st_info) == STT_FILE) from = name_of(t, i, &s).bare_len ? t->count : i + 1;
    }
    if (!from) {
        uint64_t end_of_files = last_named(t, "__FRAME_END__");
        from = end_of_files ? end_of_files + 1 : t->count;
    }
    uint64_t start = last_named(t, "_start");
    bool all_local = start && start < from && ELF64_ST_BIND(symbol_at(t, start).st_info) == STB_LOCAL;
    return all_local ? 1 : from;
}

/* Names that a look-up without a version finds in a default version, or without one. */
static struct names default_names(const struct ip_symtab *dynamic) {
    struct names set = {0};
    for (uint64_t i = 1; i < dynamic->count; i++) {
        Elf64_Sym s = symbol_at(dynamic, i);
        struct name n = name_of(dynamic, i, &s);
        if (!n.version || n.is_default) names_add(&set, n.bare, n.bare_len);
    }
    return set;
}

void ip_function_symbols(const struct ip_symtab *full, const struct ip_symtab *dynamic, const uint64_t *ranges,
                         uint64_t n_ranges, int is_program, int objects_too, struct ip_symbols *out) {
    struct collection c = {0};
    const struct ip_symtab *tables[] = {full, dynamic};
    struct names defaults = {0};
    bool have_defaults = false;
    uint64_t made_local = is_program ? first_made_local(full) : full->count;
    for (int k = 0; k < 2; k++) {
        const struct ip_symtab *t = tables[k];
        for (uint64_t i = 1; i < t->count; i++) {
            Elf64_Sym s = symbol_at(t, i);
            int type = ELF64_ST_TYPE(s.st_info), seen_by = ELF64_ST_VISIBILITY(s.st_other);
            if (s.st_shndx == SHN_UNDEF || !s.st_size) continue;
            bool is_object = type == STT_OBJECT && ELF64_ST_BIND(s.st_info) != STB_GNU_UNIQUE;
            if (type != STT_FUNC && type != STT_GNU_IFUNC &&
                !(objects_too && is_object && is_in(s.st_value, ranges, n_ranges)))
                continue;
            struct name n = name_of(t, i, &s);
            if (!n.bare_len) continue;
            bool is_hidden = seen_by == STV_INTERNAL || seen_by == STV_HIDDEN;
            struct found f = {
                .address = s.st_value,
                .size = s.st_size,
                .is_global = ELF64_ST_BIND(s.st_info) != STB_LOCAL || t == dynamic || i >= made_local ||
                             (is_hidden && is_program),
                .is_ifunc = type == STT_GNU_IFUNC,
                .is_text = is_in(s.st_value, ranges, n_ranges),
            };
            bool bare_too = n.version && n.is_default;
            if (n.version && !n.is_default) {
                if (!have_defaults) defaults = default_names(dynamic);
                have_defaults = true;
                bare_too = !names_has(&defaults, n.bare, n.bare_len);
            }
            for (int bare = 0; bare <= bare_too; bare++) {
                size_t len;
                f.name = spelled(&c, &n, !bare, &len);
                add(&c, f, len);
            }
        }
    }
    sort_by_address(&c);
    drop_repeated(&c);
    fill(&c, out);
    free(defaults.entries);
}

/* ---- Names of addresses ----------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
    const struct found *x = a, *y = b;
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void sort_by_place(struct collection *c) {
    sort_by_address(c);
    for (uint64_t i = 0, next; i < c->n; i = next) {
        for (next = i + 1; next < c->n && c->found[next].address == c->found[i].address; next++) {}
        if (next > i + 1) qsort(c->found + i, next - i, sizeof *c->found, by_place);
    }
}

/* Of the names of one address that with the fewest bytes before the version is shown, then `@@` before `@` before
 * none, then by their bytes.  But of MPI's two names for a function, the one for profilers is shown. */
static bool is_preferred(const char *name, const char *other) {
    if (!strncmp(name, "PMPI_", 5) && !strcmp(name + 1, other)) return true;
    if (!strncmp(other, "PMPI_", 5) && !strcmp(other + 1, name)) return false;
    const char *names[2] = {name, other};
    uint64_t bytes[2], signs[2] = {0};
    for (int k = 0; k < 2; k++) {
        const char *at = strchrnul(names[k], '@');
        bytes[k] = (uint64_t)(at - names[k]);
        for (; *at; at++) signs[k] += *at == '@';
    }
    if (bytes[0] != bytes[1]) return bytes[0] < bytes[1];
    if (signs[0] != signs[1]) return signs[0] > signs[1];
    return strcmp(name, other) < 0;
}

/* A heap of symbols, the least by place first. */
static void sift(struct found *heap, uint64_t n, uint64_t i) {
    for (uint64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && by_place(&heap[child + 1], &heap[child]) < 0) child++;
        if (by_place(&heap[i], &heap[child]) <= 0) return;
        struct found swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
    }
}

static struct found pop(struct found *heap, uint64_t *n) {
    struct found least = heap[0];
    heap[0] = heap[--*n];
    sift(heap, *n, 0);
    return least;
}

/* Cut n symbols that overlap, in order of place, into pieces; returns how many.
 *
 * Observed with `v.info location` on hand-made overlaps: of two symbols that start together the longer one starts where
 * the shorter ends; otherwise the earlier one ends where the later starts, and what it had behind the later one belongs
 * to nobody.  Offsets count from the start of the piece. */
static uint64_t cut(struct found *heap, uint64_t n, struct found *pieces) {
    uint64_t kept = 0, made = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct found *before = kept ? &heap[kept - 1] : NULL;
        if (!before || before->address != heap[i].address || before->size != heap[i].size)
            heap[kept++] = heap[i];
        else if (is_preferred(heap[i].name, before->name))
            before->name = heap[i].name;
    }
    n = kept;
    for (uint64_t i = n / 2; i-- > 0;) sift(heap, n, i);
    while (n) {
        struct found f = pop(heap, &n);
        uint64_t end = f.address + f.size;
        while (n && heap[0].address < end) {
            struct found *other = &heap[0];
            if (other->address > f.address) {
                end = other->address;
                break;
            }
            if (other->address + other->size > end) {
                /* The rest of it begins where this one ends. */
                other->size -= end - other->address;
                other->address = end;
                sift(heap, n, 0);
            } else {
                if (is_preferred(other->name, f.name)) f.name = other->name;
                pop(heap, &n);
            }
        }
        f.size = end - f.address;
        pieces[made++] = f;
    }
    return made;
}

/* Make disjoint pieces of symbols in order of place; most overlap no other and are pieces already. */
static void lay_out(struct collection *c) {
    uint64_t made = 0;
    struct found *pieces = ip_alloc(c->n + 1, sizeof *pieces);
    for (uint64_t i = 0, next; i < c->n; i = next) {
        uint64_t end = c->found[i].address + c->found[i].size;
        for (next = i + 1; next < c->n && c->found[next].address < end; next++) {
            uint64_t later = c->found[next].address + c->found[next].size;
            if (later > end) end = later;
        }
        if (next == i + 1)
            pieces[made++] = c->found[i];
        else
            made += cut(c->found + i, next - i, pieces + made);
    }
    free(c->found);
    c->found = pieces;
    c->n = made;
    c->bytes = 0;
    for (uint64_t i = 0; i < made; i++) c->bytes += strlen(pieces[i].name) + 1;
}

void ip_pieces(uint64_t n, const uint64_t *addresses, const uint64_t *sizes, const char *names,
               struct ip_symbols *out) {
    struct collection c = {0};
    for (uint64_t i = 0; i < n; i++) {
        add(&c, (struct found){.address = addresses[i], .size = sizes[i], .name = names}, 0);
        names += strlen(names) + 1;
    }
    sort_by_place(&c);
    lay_out(&c);
    fill(&c, out);
}

int64_t ip_symbol_at(const struct ip_symbols *s, uint64_t address) {
    uint64_t lo = 0, hi = s->count;
    while (lo < hi) {
        uint64_t mid = (lo + hi) / 2;
        if (s->address[mid] <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo && address - s->address[lo - 1] < s->size[lo - 1] ? (int64_t)lo - 1 : -1;
}

void ip_place_symbols(const struct ip_symtab *full, const struct ip_symtab *dynamic, const uint64_t *ranges,
                      uint64_t n_ranges, uint32_t types, struct ip_symbols *out) {
    struct collection c = {0};
    const struct ip_symtab *tables[] = {full, dynamic};
    for (int k = 0; k < 2; k++) {
        const struct ip_symtab *t = tables[k];
        for (uint64_t i = 1; i < t->count; i++) {
            Elf64_Sym s = symbol_at(t, i);
            if (s.st_shndx == SHN_UNDEF || !s.st_size || !s.st_value) continue;
            if (!(types >> ELF64_ST_TYPE(s.st_info) & 1) || !is_in(s.st_value, ranges, n_ranges)) continue;
            struct name n = name_of(t, i, &s);
            if (!n.bare_len) continue;
            size_t len;
            struct found f = {.address = s.st_value, .size = s.st_size};
            f.name = spelled(&c, &n, t == full, &len);
            add(&c, f, len);
        }
    }
    sort_by_place(&c);
    lay_out(&c);
    fill(&c, out);
}
