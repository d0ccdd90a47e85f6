/* Which MPI libraries the process has: the Fortran bindings, and one that these wrappers are not for.
 *
 * A Fortran program's calls come by way of the bindings, which call the functions of C. Where a call was made is where
 * it was in the program.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "mpiwrap.h"

/* The code of the bindings. */
struct range {
    uintptr_t low, high;
};
enum { MOST = 16 };
static struct range bindings[MOST];
static size_t n_bindings;

/* libmpi_mpifh.so, libmpi_usempif08.so, libmpichfort.so, libmpifort.so and their like. */
static bool is_binding(const char *name) {
    static const char *const words[] = {"fort", "mpifh", "usempi", "f77", "f90", "f08"};
    for (size_t i = 0; i < IP_COUNT_OF(words); i++)
        if (strstr(name, words[i])) return true;
    return false;
}

static void keep_code(const struct dl_phdr_info *object) {
    for (int i = 0; i < object->dlpi_phnum && n_bindings < MOST; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t at = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X))
            bindings[n_bindings++] = (struct range){at, at + part->p_memsz};
    }
}

struct others {
    const char *paths[MOST];
    size_t n;
};

static int look(struct dl_phdr_info *object, size_t size, void *data) {
    (void)size;
    struct others *others = data;
    const char *slash = strrchr(object->dlpi_name, '/'), *name = slash ? slash + 1 : object->dlpi_name;
    if (strncmp(name, "lib", 3) != 0 || !strstr(name, "mpi")) return 0;
    if (is_binding(name))
        keep_code(object);
    else if (others->n < MOST && strncmp(name, IP_LIBRARY, strlen(IP_LIBRARY)) != 0)
        others->paths[others->n++] = object->dlpi_name;
    return 0;
}

static bool is_mpi(const char *path) {
    void *library = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    if (!library) return false;
    /* What it depends on is searched, too. */
    void *send = dlsym(library, "PMPI_Send");
    Dl_info info;
    bool is = send && dladdr(send, &info) && strcmp(info.dli_fname, path) == 0;
    dlclose(library);
    return is;
}

/* With two MPI libraries handles and constants of one come to the other: whatever is called goes wrong. */
static void __attribute__((constructor)) look_at_libraries(void) {
    struct others others = {.n = 0};
    dl_iterate_phdr(look, &others);
    for (size_t i = 0; IP_LIBRARY[0] && i < others.n; i++)
        if (is_mpi(others.paths[i])) {
            ip_say("these wrappers are for %s, and the program has %s (interpose --mpi-wrappers=MPICC takes the "
                   "compiler's name): the program ends",
                   IP_LIBRARY, others.paths[i]);
            _exit(1);
        }
}

static bool is_in_binding(uintptr_t address) {
    for (size_t i = 0; i < n_bindings; i++)
        if (address >= bindings[i].low && address < bindings[i].high) return true;
    return false;
}

struct walk {
    bool was_there; /* in the bindings */
    uintptr_t caller;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *frame, void *data) {
    struct walk *walk = data;
    uintptr_t address = _Unwind_GetIP(frame);
    if (is_in_binding(address)) {
        walk->was_there = true;
        return _URC_NO_REASON;
    }
    if (!walk->was_there) return _URC_NO_REASON;
    walk->caller = address;
    return _URC_END_OF_STACK;
}

const void *ip_caller_in_program(const void *caller) {
    struct walk walk = {false, 0};
    if (is_in_binding((uintptr_t)caller)) _Unwind_Backtrace(step, &walk);
    return walk.caller ? (const void *)walk.caller : caller;
}
