/* Where the bytes of a datatype lie: its type map as a tree of pieces, repetitions and lists.
 *
 * A type is read once, by MPI_Type_get_envelope and MPI_Type_get_contents, and kept until its handle is freed. The
 * tree shares its parts and does not unfold repetitions, so that large types stay small. Pieces come in the order of
 * the type map, because a message that is shorter than the buffer fills it in that order.
 */
#include <string.h>

#include "mpiwrap.h"

struct ip_layout *ip_layout_keep(struct ip_layout *layout) {
    __atomic_add_fetch(&layout->refs, 1, __ATOMIC_RELAXED);
    return layout;
}

void ip_layout_drop(struct ip_layout *layout) {
    if (!layout || __atomic_sub_fetch(&layout->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
    if (layout->kind == IP_REPEAT)
        ip_layout_drop(layout->child);
    else if (layout->kind == IP_LIST) {
        for (MPI_Count i = 0; i < layout->times; i++) ip_layout_drop(layout->parts[i].child);
        ip_free(layout->parts);
    }
    ip_free(layout);
}

/* ---- building; each function takes over the references that it is given */

static struct ip_layout *new_layout(int kind) {
    struct ip_layout *layout = ip_alloc(sizeof *layout);
    layout->refs = 1;
    layout->kind = kind;
    layout->depth = 1;
    layout->pieces = 1;
    return layout;
}

/* `size` bytes of data, of which the first `used` are looked at. */
static struct ip_layout *piece(MPI_Count size, MPI_Count used) {
    struct ip_layout *layout = new_layout(IP_PIECE);
    layout->size = size;
    layout->extent = size;
    layout->high = used;
    if (used == 0) layout->pieces = 0;
    return layout;
}

static bool is_dense(const struct ip_layout *layout) {
    return layout->kind == IP_PIECE && layout->high - layout->low == layout->size;
}

static struct ip_layout *with_bounds(struct ip_layout *layout, MPI_Aint lb, MPI_Aint extent) {
    if (layout->lb == lb && layout->extent == extent) return layout;
    struct ip_layout *other = new_layout(layout->kind);
    *other = *layout;
    other->refs = 1;
    other->lb = lb;
    other->extent = extent;
    if (other->kind == IP_REPEAT)
        ip_layout_keep(other->child);
    else if (other->kind == IP_LIST) {
        other->parts = ip_alloc(sizeof *other->parts * (size_t)other->times);
        memcpy(other->parts, layout->parts, sizeof *other->parts * (size_t)other->times);
        for (MPI_Count i = 0; i < other->times; i++) ip_layout_keep(other->parts[i].child);
    }
    ip_layout_drop(layout);
    return other;
}

/* Moved by some bytes. */
static struct ip_layout *shifted(struct ip_layout *layout, MPI_Aint by) {
    if (by == 0 || layout->pieces == 0) return layout;
    struct ip_layout *other;
    if (layout->kind == IP_PIECE) {
        other = new_layout(IP_PIECE);
        *other = *layout;
        other->refs = 1;
        ip_layout_drop(layout);
    } else {
        other = new_layout(IP_LIST);
        other->times = 1;
        other->parts = ip_alloc(sizeof *other->parts);
        other->parts[0] = (struct ip_part){by, layout};
        other->depth = layout->depth + 1;
        other->pieces = layout->pieces;
        other->size = layout->size;
        other->low = layout->low;
        other->high = layout->high;
    }
    other->low += by;
    other->high += by;
    return other;
}

static MPI_Aint lower(MPI_Aint a, MPI_Aint b) { return a < b ? a : b; }

static MPI_Aint higher(MPI_Aint a, MPI_Aint b) { return a > b ? a : b; }

static struct ip_layout *repeat(MPI_Count times, MPI_Aint stride, struct ip_layout *child) {
    struct ip_layout *layout;
    if (times <= 0 || child->pieces == 0) {
        layout = piece(0, 0);
        ip_layout_drop(child);
        return layout;
    }
    MPI_Aint last = (MPI_Aint)(times - 1) * stride;
    if (times > 1 && is_dense(child) && stride == child->high - child->low) {
        layout = piece(times * child->size, times * child->size);
        layout->low = child->low;
        layout->high += child->low;
        layout->lb = child->lb;
        layout->extent = child->extent + last;
        ip_layout_drop(child);
        return layout;
    }
    if (times == 1) return child;
    layout = new_layout(IP_REPEAT);
    layout->times = times;
    layout->stride = stride;
    layout->child = child;
    layout->depth = child->depth + 1;
    layout->size = times * child->size;
    layout->pieces = times * child->pieces;
    layout->low = child->low + lower(0, last);
    layout->high = child->high + higher(0, last);
    layout->lb = child->lb + lower(0, last);
    layout->extent = child->lb + child->extent + higher(0, last) - layout->lb;
    return layout;
}

struct list {
    struct ip_part *parts;
    MPI_Count n, room;
    bool any;
    MPI_Aint lb, ub;
};

static struct list list_of(MPI_Count room) {
    return (struct list){.parts = ip_alloc(sizeof(struct ip_part) * (size_t)(room > 0 ? room : 1)), .room = room};
}

static void append(struct list *list, MPI_Aint at, struct ip_layout *child) {
    MPI_Aint ub = at + child->lb + child->extent, lb = at + child->lb;
    if (child->size || child->extent) {
        list->lb = list->any ? lower(list->lb, lb) : lb;
        list->ub = list->any ? higher(list->ub, ub) : ub;
        list->any = true;
    }
    if (child->pieces == 0) {
        ip_layout_drop(child);
        return;
    }
    struct ip_part *before = list->n ? &list->parts[list->n - 1] : NULL;
    if (before && is_dense(child) && is_dense(before->child) && before->at + before->child->high == at + child->low) {
        struct ip_layout *joined = piece(before->child->size + child->size, before->child->size + child->size);
        joined->low = before->child->low;
        joined->high += joined->low;
        ip_layout_drop(before->child);
        ip_layout_drop(child);
        before->child = joined;
        return;
    }
    list->parts[list->n++] = (struct ip_part){at, child};
}

static struct ip_layout *listed(struct list *list) {
    struct ip_layout *layout;
    if (list->n <= 1) {
        layout = list->n ? shifted(list->parts[0].child, list->parts[0].at) : piece(0, 0);
        ip_free(list->parts);
        return with_bounds(layout, list->lb, list->ub - list->lb);
    }
    layout = new_layout(IP_LIST);
    layout->parts = list->parts;
    layout->times = list->n;
    layout->pieces = 0;
    for (MPI_Count i = 0; i < list->n; i++) {
        const struct ip_part *part = &list->parts[i];
        layout->size += part->child->size;
        layout->pieces += part->child->pieces;
        layout->depth = part->child->depth + 1 > layout->depth ? part->child->depth + 1 : layout->depth;
        layout->low = i ? lower(layout->low, part->at + part->child->low) : part->at + part->child->low;
        layout->high = i ? higher(layout->high, part->at + part->child->high) : part->at + part->child->high;
    }
    layout->lb = list->lb;
    layout->extent = list->ub - list->lb;
    return layout;
}

/* ---- named types */

static MPI_Count size_of(MPI_Datatype type) {
    MPI_Count size = 0;
    PMPI_Type_size_x(type, &size);
    return size;
}

/* A value and an int behind it, as in struct { value v; int i; }: what is between them is nobody's. */
static struct ip_layout *pair(MPI_Count used, MPI_Count size, MPI_Aint at, MPI_Datatype type) {
    struct list list = list_of(2);
    MPI_Aint lb = 0, extent = 0;
    append(&list, 0, piece(size, used));
    append(&list, at, piece(4, 4));
    PMPI_Type_get_extent(type, &lb, &extent);
    return with_bounds(listed(&list), lb, extent);
}

/* The bytes of a long double that hold its value. */
enum { LONG_DOUBLE_USED = 10 };

static struct ip_layout *named(MPI_Datatype type) {
    struct ip_layout *layout;
    MPI_Aint lb = 0, extent = 0;
    if (type == MPI_DATATYPE_NULL) return piece(0, 0);
    if (type == MPI_DOUBLE_INT || type == MPI_LONG_INT) return pair(8, 8, 8, type);
    if (type == MPI_SHORT_INT) return pair(2, 2, 4, type);
    if (type == MPI_LONG_DOUBLE_INT) return pair(LONG_DOUBLE_USED, 16, 16, type);
    if (type == MPI_LONG_DOUBLE) return piece(16, LONG_DOUBLE_USED);
    if (type == MPI_C_LONG_DOUBLE_COMPLEX) return repeat(2, 16, piece(16, LONG_DOUBLE_USED));
    layout = piece(size_of(type), size_of(type));
    PMPI_Type_get_extent(type, &lb, &extent);
    return with_bounds(layout, lb, extent);
}

/* ---- derived types */

struct contents {
    int combiner;
    const int *ints;
    const MPI_Aint *addresses;
    const MPI_Count *wide; /* types made by the functions of large counts have their counts here */
    const MPI_Datatype *types;
    size_t next_int, next_address, next_wide;
    bool is_wide;
};

static int an_int(struct contents *c) { return c->ints[c->next_int++]; }

static MPI_Count a_count(struct contents *c) { return c->is_wide ? c->wide[c->next_wide++] : c->ints[c->next_int++]; }

static MPI_Aint an_address(struct contents *c) {
    return c->is_wide ? (MPI_Aint)c->wide[c->next_wide++] : c->addresses[c->next_address++];
}

static struct ip_layout *blocks_of(MPI_Count n, struct ip_layout *child) { return repeat(n, child->extent, child); }

/* Blocks of lengths at places: in units of the type, or in bytes. */
static struct ip_layout *indexed(struct contents *c, bool in_bytes, bool same_length, struct ip_layout *child) {
    MPI_Count n = a_count(c);
    MPI_Count same = same_length ? a_count(c) : 0;
    MPI_Count *lengths = ip_alloc(sizeof *lengths * (size_t)(n + 1));
    for (MPI_Count i = 0; i < n; i++) lengths[i] = same_length ? same : a_count(c);
    struct list list = list_of(n);
    for (MPI_Count i = 0; i < n; i++) {
        MPI_Aint at = in_bytes ? an_address(c) : (MPI_Aint)a_count(c) * child->extent;
        if (lengths[i] > 0) append(&list, at, blocks_of(lengths[i], ip_layout_keep(child)));
    }
    ip_free(lengths);
    ip_layout_drop(child);
    return listed(&list);
}

static struct ip_layout *structure(struct contents *c) {
    MPI_Count n = a_count(c);
    struct list list = list_of(n);
    MPI_Count *lengths = ip_alloc(sizeof *lengths * (size_t)(n + 1));
    for (MPI_Count i = 0; i < n; i++) lengths[i] = a_count(c);
    for (MPI_Count i = 0; i < n; i++) {
        MPI_Aint at = an_address(c);
        if (lengths[i] > 0) append(&list, at, blocks_of(lengths[i], ip_layout_of(c->types[i])));
    }
    ip_free(lengths);
    return listed(&list);
}

/* Part of an array of ndims dimensions; the innermost dimension is the last in C's order. */
static struct ip_layout *subarray(struct contents *c, struct ip_layout *child) {
    int ndims = an_int(c);
    MPI_Count *numbers = ip_alloc(sizeof *numbers * 3 * (size_t)(ndims + 1));
    MPI_Count *sizes = numbers, *parts = numbers + ndims, *starts = parts + ndims;
    for (int i = 0; i < 3 * ndims; i++) numbers[i] = a_count(c);
    bool is_c = an_int(c) == MPI_ORDER_C;
    MPI_Aint stride = child->extent, first = 0;
    for (int i = 0; i < ndims; i++) {
        int dim = is_c ? ndims - 1 - i : i;
        first += (MPI_Aint)starts[dim] * stride;
        child = repeat(parts[dim], stride, child);
        stride *= (MPI_Aint)sizes[dim];
    }
    ip_free(numbers);
    return with_bounds(shifted(child, first), 0, stride);
}

/* The part that one process of a grid has of an array. */
static struct ip_layout *darray(struct contents *c, struct ip_layout *child) {
    int size = an_int(c), rank = an_int(c), ndims = an_int(c);
    MPI_Count *gsizes = ip_alloc(sizeof *gsizes * (size_t)(ndims + 1));
    int *ints = ip_alloc(sizeof *ints * 4 * (size_t)(ndims + 1));
    int *kinds = ints, *args = kinds + ndims, *procs = args + ndims, *coords = procs + ndims;
    for (int i = 0; i < ndims; i++) gsizes[i] = a_count(c);
    for (int i = 0; i < 3 * ndims; i++) ints[i] = an_int(c);
    bool is_c = an_int(c) == MPI_ORDER_C;
    for (int i = 0, left = rank, procs_left = size; i < ndims; i++) {
        procs_left /= procs[i] > 0 ? procs[i] : 1;
        coords[i] = procs_left ? left / procs_left : 0;
        left -= coords[i] * procs_left;
    }
    MPI_Aint stride = child->extent;
    for (int i = 0; i < ndims; i++) {
        int dim = is_c ? ndims - 1 - i : i;
        MPI_Count n = gsizes[dim], p = procs[dim], block;
        if (kinds[dim] == MPI_DISTRIBUTE_NONE)
            block = n, p = 1;
        else if (args[dim] != MPI_DISTRIBUTE_DFLT_DARG)
            block = args[dim];
        else
            block = kinds[dim] == MPI_DISTRIBUTE_BLOCK ? (n + p - 1) / p : 1;
        MPI_Count mine = p > 1 ? coords[dim] : 0, whole = 0, tail = 0, at;
        for (at = mine * block; at + block <= n; at += p * block) whole++;
        if (at < n) tail = n - at;
        struct list list = list_of(2);
        if (whole)
            append(&list, (MPI_Aint)(mine * block) * stride,
                   repeat(whole, (MPI_Aint)(p * block) * stride, repeat(block, stride, ip_layout_keep(child))));
        if (tail) append(&list, (MPI_Aint)at * stride, repeat(tail, stride, ip_layout_keep(child)));
        ip_layout_drop(child);
        child = listed(&list);
        stride *= (MPI_Aint)n;
    }
    ip_free(gsizes);
    ip_free(ints);
    return with_bounds(child, 0, stride);
}

static struct ip_layout *derived(struct contents *c) {
    struct ip_layout *child = c->combiner == MPI_COMBINER_STRUCT ? NULL : ip_layout_of(c->types[0]);
    MPI_Count n, length;
    MPI_Aint lb, extent;
    switch (c->combiner) {
    case MPI_COMBINER_DUP: return child;
    case MPI_COMBINER_CONTIGUOUS: return blocks_of(a_count(c), child);
    case MPI_COMBINER_VECTOR:
        n = a_count(c);
        length = a_count(c);
        extent = (MPI_Aint)a_count(c) * child->extent;
        return repeat(n, extent, blocks_of(length, child));
    case MPI_COMBINER_HVECTOR:
        n = a_count(c);
        length = a_count(c);
        return repeat(n, an_address(c), blocks_of(length, child));
    case MPI_COMBINER_INDEXED: return indexed(c, false, false, child);
    case MPI_COMBINER_HINDEXED: return indexed(c, true, false, child);
    case MPI_COMBINER_INDEXED_BLOCK: return indexed(c, false, true, child);
    case MPI_COMBINER_HINDEXED_BLOCK: return indexed(c, true, true, child);
    case MPI_COMBINER_STRUCT: return structure(c);
    case MPI_COMBINER_SUBARRAY: return subarray(c, child);
    case MPI_COMBINER_DARRAY: return darray(c, child);
    case MPI_COMBINER_RESIZED:
        lb = an_address(c);
        extent = an_address(c);
        return with_bounds(child, lb, extent);
    default: ip_layout_drop(child); return NULL;
    }
}

/* Combiners of predefined types, whose contents must not be asked for, or need not. */
static bool is_named(int combiner) {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

static struct ip_layout *read_type(MPI_Datatype type) {
    int combiner = MPI_COMBINER_NAMED;
    struct contents c = {0};
#ifdef HAVE_PMPI_Type_get_contents_c
    MPI_Count ints = 0, addresses = 0, wide = 0, types = 0;
    if (PMPI_Type_get_envelope_c(type, &ints, &addresses, &wide, &types, &combiner) != MPI_SUCCESS) return piece(0, 0);
#else
    int ints = 0, addresses = 0, wide = 0, types = 0;
    if (PMPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner) != MPI_SUCCESS) return piece(0, 0);
#endif
    if (is_named(combiner)) return named(type);
    int *int_values = ip_alloc(sizeof *int_values * (size_t)(ints + 1));
    MPI_Aint *address_values = ip_alloc(sizeof *address_values * (size_t)(addresses + 1));
    MPI_Count *wide_values = ip_alloc(sizeof *wide_values * (size_t)(wide + 1));
    MPI_Datatype *type_values = ip_alloc(sizeof *type_values * (size_t)(types + 1));
#ifdef HAVE_PMPI_Type_get_contents_c
    PMPI_Type_get_contents_c(type, ints, addresses, wide, types, int_values, address_values, wide_values, type_values);
#else
    PMPI_Type_get_contents(type, ints, addresses, types, int_values, address_values, type_values);
#endif
    c = (struct contents){.combiner = combiner,
                          .ints = int_values,
                          .addresses = address_values,
                          .wide = wide_values,
                          .types = type_values,
                          .is_wide = wide > 0};
    struct ip_layout *layout = derived(&c);
    MPI_Aint lb = 0, extent = 0;
    PMPI_Type_get_extent(type, &lb, &extent);
    if (!layout) {
        ip_say("%s: a datatype has combiner %d, which is not known; its buffers are not checked",
               ip_strict ? "error" : "warning", combiner);
        if (ip_strict) PMPI_Abort(MPI_COMM_WORLD, 1);
        layout = piece(0, 0);
    }
    /* What the library says of bounds holds: it pads structures, and old types carried markers of bounds. */
    layout = with_bounds(layout, lb, extent);
    for (MPI_Count i = 0; i < types; i++)
        if (!ip_type_is_named(type_values[i])) {
            ip_layout_forget(type_values[i]);
            PMPI_Type_free(&type_values[i]);
        }
    ip_free(int_values);
    ip_free(address_values);
    ip_free(wide_values);
    ip_free(type_values);
    return layout;
}

bool ip_type_is_named(MPI_Datatype type) {
    int ints = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
    if (type == MPI_DATATYPE_NULL) return true;
#ifdef HAVE_PMPI_Type_get_contents_c
    MPI_Count n_ints, n_addresses, n_wide, n_types;
    (void)ints, (void)addresses, (void)types;
    PMPI_Type_get_envelope_c(type, &n_ints, &n_addresses, &n_wide, &n_types, &combiner);
#else
    PMPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner);
#endif
    return is_named(combiner);
}

/* ---- what is known, by handle */

struct known {
    uintptr_t handle;
    struct ip_layout *layout;
    struct known *next;
};

enum { BUCKETS = 1024 };
static struct known *known[BUCKETS];

static struct known **bucket(uintptr_t handle) { return &known[(handle * 0x9e3779b97f4a7c15u) >> 54]; }

struct ip_layout *ip_layout_of(MPI_Datatype type) {
    uintptr_t handle = IP_WORD(type);
    ip_lock();
    for (struct known *entry = *bucket(handle); entry; entry = entry->next)
        if (entry->handle == handle) {
            struct ip_layout *layout = ip_layout_keep(entry->layout);
            ip_unlock();
            return layout;
        }
    ip_unlock();
    struct ip_layout *layout = read_type(type);
    struct known *entry = ip_alloc(sizeof *entry);
    *entry = (struct known){handle, ip_layout_keep(layout), NULL};
    ip_lock();
    entry->next = *bucket(handle);
    *bucket(handle) = entry;
    ip_unlock();
    return layout;
}

void ip_layout_forget(MPI_Datatype type) {
    uintptr_t handle = IP_WORD(type);
    ip_lock();
    for (struct known **link = bucket(handle); *link;) {
        struct known *entry = *link;
        if (entry->handle != handle) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        ip_layout_drop(entry->layout);
        ip_free(entry);
    }
    ip_unlock();
}
