/* The malloc family and the C++ operators (docs/spec/redirection.md section 6). */
#include <stdbool.h>

#include "stubs.h"

#define SIGABRT    6
#define EINVAL     22
#define ENOMEM     12
#define NAME(text) ((u64)(uintptr_t)text)
#define UNSAID     IP_HR_UNSAID

/* No function here uses a register that its caller keeps values in: when operator new
 * throws, its frame is taken away as it stands (IP_HR_NEW_FAILED). */
register u64 callers_rbx __asm__("rbx");
register u64 callers_rbp __asm__("rbp");
register u64 callers_r12 __asm__("r12");
register u64 callers_r13 __asm__("r13");
register u64 callers_r14 __asm__("r14");
register u64 callers_r15 __asm__("r15");

/* The heap could not even throw std::bad_alloc: no C++ library is there. */
static __attribute__((noreturn)) void fail_new(void) {
    long pid, r;
    __asm__ volatile("syscall" : "=a"(pid) : "a"(39l) : "rcx", "r11", "memory"); /* getpid */
    __asm__ volatile("syscall" : "=a"(r) : "a"(62l), "D"(pid), "S"((long)SIGABRT) : "rcx", "r11", "memory"); /* kill */
    for (;;) __asm__ volatile("ud2");
}

/* The program's own errno, where its C library keeps it. */
static __attribute__((noinline)) void failed(int error) {
    u64 where = request(IP_HR_FIND, NAME("__errno_location"), 0, 0, 0, 0);
    if (where) *((int *(*)(void))where)() = error;
}
static __attribute__((noinline)) void no_memory(void) { failed(ENOMEM); }
#define OR_ENOMEM(p)                                                                                                   \
    ({                                                                                                                 \
        u64 got_ = (p);                                                                                                \
        if (!got_) no_memory();                                                                                        \
        (void *)got_;                                                                                                  \
    })

/* The program's linker may have made several into one (identical code folding, aliases), and of rules for one address
 * the one that lies highest holds (docs/spec/redirection.md, section 4): functions that are given less come last, or
 * whatever a register held would be taken for a size. */

/* ---- C++ -------------------------------------------------------------------------- */

/* ---- std::new_handler ([new.delete.single]): it makes memory, throws, or ends the program --- */

struct phdr { /* Elf64_Phdr */
    unsigned type, flags;
    u64 offset, vaddr, paddr, filesz, memsz, align;
};
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
#define PT_GNU_EH_FRAME 0x6474e550u

/* No dynamic linker knows this image: tell the unwinder of its call frame information, or
 * an exception of the handler's would end here. */
static void tell_unwinder(void) {
    static unsigned char told;
    u64 tell = told ? 0 : request(IP_HR_FIND, NAME("__register_frame"), 0, 0, 0, 0);
    const struct phdr *ph = (const struct phdr *)(__ehdr_start + *(const u64 *)(__ehdr_start + 32));
    told = 1;
    for (unsigned i = 0; tell && i < *(const u16 *)(__ehdr_start + 56); i++)
        if (ph[i].type == PT_GNU_EH_FRAME) {
            const char *at = __ehdr_start + ph[i].vaddr + 4; /* encoded as sdata4, pcrel */
            ((void (*)(const void *))tell)(at + *(const int *)at);
        }
}

static __attribute__((noinline)) bool handler_ran(void) {
    u64 get = request(IP_HR_FIND, NAME("_ZSt15get_new_handlerv"), 0, 0, 0, 0);
    void (*handler)(void) = get ? ((void (*(*)(void))(void))get)() : 0;
    if (!handler) return false;
    tell_unwinder();
    handler();
    return true;
}

/* The frame of operator new itself stays as it is: it is replaced when nothing helps. */
static __attribute__((noinline)) u64 new_again(u64 n, u64 kind, u64 align, u64 name) {
    u64 p = 0;
    while (!p && handler_ran())
        p = align ? request(IP_HR_MEMALIGN, align, n, kind, IP_AH_NEW, name)
                  : request(IP_HR_MALLOC, n, kind, name, 0, 0);
    return p;
}

#define IN_CXX(tag, fn)                                                                                                \
    ALSO(SYM(tag, SOMALLOC, fn), SYM(tag, C_LIB, fn));                                                                 \
    ALSO(SYM(tag, STDCXX, fn), SYM(tag, C_LIB, fn));                                                                   \
    ALSO(SYM(tag, LIBCXX, fn), SYM(tag, C_LIB, fn))

/* Behind what errors call the function stands its symbol, which --trace-malloc shows. */
#define NEW(fn, kind, text)                                                                                            \
    PUBLIC void *SYM(10030, C_LIB, fn)(size_t n) {                                                                     \
        look_at(n);                                                                                                    \
        u64 p = request(IP_HR_MALLOC, n, kind, NAME(text "\0" #fn), 0, 0);                                             \
        if (!p && !(p = new_again(n, kind, 0, NAME(text "\0" #fn)))) {                                                 \
            request(IP_HR_NEW_FAILED, NAME("new/new[]"), 0, 0, 0, 0);                                                  \
            fail_new();                                                                                                \
        }                                                                                                              \
        return (void *)p;                                                                                              \
    }                                                                                                                  \
    IN_CXX(10030, fn)
#define NEW_NOTHROW(fn, kind, text)                                                                                    \
    PUBLIC void *SYM(10010, C_LIB, fn)(size_t n, const void *tag) {                                                    \
        (void)tag;                                                                                                     \
        look_at(n);                                                                                                    \
        u64 p = request(IP_HR_MALLOC, n, kind, NAME(text "\0" #fn), 0, 0);                                             \
        return (void *)(p ? p : new_again(n, kind, 0, NAME(text "\0" #fn)));                                           \
    }                                                                                                                  \
    IN_CXX(10010, fn)
#define NEW_ALIGNED(fn, kind, text)                                                                                    \
    PUBLIC void *SYM(10030, C_LIB, fn)(size_t n, size_t align) {                                                       \
        look_at(n);                                                                                                    \
        look_at(align);                                                                                                \
        u64 p = request(IP_HR_MEMALIGN, align, n, kind, IP_AH_NEW, NAME(text "\0" #fn));                               \
        if (!p && !(p = new_again(n, kind, align, NAME(text "\0" #fn)))) {                                             \
            request(IP_HR_NEW_FAILED, NAME("new/new[] aligned"), 0, 0, 0, 0);                                          \
            fail_new();                                                                                                \
        }                                                                                                              \
        return (void *)p;                                                                                              \
    }                                                                                                                  \
    IN_CXX(10030, fn)
#define NEW_ALIGNED_NOTHROW(fn, kind, text)                                                                            \
    PUBLIC void *SYM(10010, C_LIB, fn)(size_t n, size_t align, const void *tag) {                                      \
        (void)tag;                                                                                                     \
        look_at(n);                                                                                                    \
        look_at(align);                                                                                                \
        u64 p = request(IP_HR_MEMALIGN, align, n, kind, IP_AH_NEW, NAME(text "\0" #fn));                               \
        return (void *)(p ? p : new_again(n, kind, align, NAME(text "\0" #fn)));                                       \
    }                                                                                                                  \
    IN_CXX(10010, fn)

NEW(_Znwm, IP_AK_NEW, "__builtin_new");
NEW(_Znam, IP_AK_NEW_ARRAY, "__builtin_vec_new");
NEW_NOTHROW(_ZnwmRKSt9nothrow_t, IP_AK_NEW, "__builtin_new");
NEW_NOTHROW(_ZnamRKSt9nothrow_t, IP_AK_NEW_ARRAY, "__builtin_vec_new");
NEW_ALIGNED(_ZnwmSt11align_val_t, IP_AK_NEW, "new_aligned");
NEW_ALIGNED(_ZnamSt11align_val_t, IP_AK_NEW_ARRAY, "new[]_aligned");
NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t, IP_AK_NEW, "new_aligned");
NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t, IP_AK_NEW_ARRAY, "new[]_aligned");

#define OLD_NEW(fn, body)                                                                                              \
    ALSO(SYM(10030, C_LIB, fn), body);                                                                                 \
    ALSO(SYM(10030, STDCXX, fn), body)
OLD_NEW(builtin_new, SYM(10030, C_LIB, _Znwm));
OLD_NEW(__builtin_new, SYM(10030, C_LIB, _Znwm));
OLD_NEW(__builtin_vec_new, SYM(10030, C_LIB, _Znam));

#define LOOK_AT_GIVEN(argument)                                                                                        \
    if (!__builtin_constant_p(argument)) look_at(argument)
#define DELETE(fn, params, kind, size, align)                                                                          \
    PUBLIC void SYM(10050, C_LIB, fn) params {                                                                         \
        look_at((u64)p);                                                                                               \
        LOOK_AT_GIVEN(size);                                                                                           \
        LOOK_AT_GIVEN(align);                                                                                          \
        request(IP_HR_FREE, (u64)p, kind, size, align, NAME(#fn));                                                     \
    }                                                                                                                  \
    IN_CXX(10050, fn)
#define TAG const void *tag __attribute__((unused))
/* Each before its array form, as above: of two forms that are one function (mimalloc, tcmalloc) the later here is
 * what holds, and new and delete must come to be of one kind. */

DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t n, size_t a), IP_AK_NEW, n, a);
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t n, size_t a), IP_AK_NEW_ARRAY, n, a);
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t a), IP_AK_NEW, UNSAID, a);
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t a), IP_AK_NEW_ARRAY, UNSAID, a);
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t a, TAG), IP_AK_NEW, UNSAID, a);
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t a, TAG), IP_AK_NEW_ARRAY, UNSAID, a);
DELETE(_ZdlPvm, (void *p, size_t n), IP_AK_NEW, n, UNSAID);
DELETE(_ZdaPvm, (void *p, size_t n), IP_AK_NEW_ARRAY, n, UNSAID);
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, TAG), IP_AK_NEW, UNSAID, UNSAID);
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, TAG), IP_AK_NEW_ARRAY, UNSAID, UNSAID);
DELETE(_ZdlPv, (void *p), IP_AK_NEW, UNSAID, UNSAID);
DELETE(_ZdaPv, (void *p), IP_AK_NEW_ARRAY, UNSAID, UNSAID);

ALSO(SYM(10050, C_LIB, __builtin_delete), SYM(10050, C_LIB, _ZdlPv));
ALSO(SYM(10050, STDCXX, __builtin_delete), SYM(10050, C_LIB, _ZdlPv));
ALSO(SYM(10050, C_LIB, __builtin_vec_delete), SYM(10050, C_LIB, _ZdaPv));
ALSO(SYM(10050, STDCXX, __builtin_vec_delete), SYM(10050, C_LIB, _ZdaPv));

/* ---- C ------------------------------------------------------------------------ */
/* Behind the operators: where free is one with delete (tcmalloc), free is what holds, as under Valgrind. */

PUBLIC void *SYM(10010, C_LIB, malloc)(size_t n) {
    look_at(n);
    return OR_ENOMEM(request(IP_HR_MALLOC, n, IP_AK_MALLOC, NAME("malloc"), 0, 0));
}
ALSO(SYM(10010, SOMALLOC, malloc), SYM(10010, C_LIB, malloc));
ALSO(SYM(10010, STDCXX, malloc), SYM(10010, C_LIB, malloc));

PUBLIC void SYM(10051, C_LIB, free_sized)(void *p, size_t n) {
    look_at((u64)p);
    look_at(n);
    request(IP_HR_FREE, (u64)p, IP_AK_MALLOC, n, UNSAID, 0);
}
ALSO(SYM(10051, SOMALLOC, free_sized), SYM(10051, C_LIB, free_sized));

PUBLIC void SYM(10052, C_LIB, free_aligned_sized)(void *p, size_t align, size_t n) {
    look_at((u64)p);
    look_at(align);
    look_at(n);
    request(IP_HR_FREE, (u64)p, IP_AK_MALLOC, n, align, 0);
}
ALSO(SYM(10052, SOMALLOC, free_aligned_sized), SYM(10052, C_LIB, free_aligned_sized));

PUBLIC void SYM(10050, C_LIB, free)(void *p) {
    look_at((u64)p);
    request(IP_HR_FREE, (u64)p, IP_AK_MALLOC, UNSAID, UNSAID, 0);
}
ALSO(SYM(10050, SOMALLOC, free), SYM(10050, C_LIB, free));
ALSO(SYM(10050, STDCXX, free), SYM(10050, C_LIB, free));
ALSO(SYM(10050, C_LIB, cfree), SYM(10050, C_LIB, free));
ALSO(SYM(10050, SOMALLOC, cfree), SYM(10050, C_LIB, free));

PUBLIC void *SYM(10070, C_LIB, calloc)(size_t n, size_t size) {
    look_at(n);
    look_at(size);
    return OR_ENOMEM(request(IP_HR_CALLOC, n, size, NAME("calloc"), 0, 0));
}
ALSO(SYM(10070, SOMALLOC, calloc), SYM(10070, C_LIB, calloc));

/* Without a block it is malloc in stacks and in what is said of arguments, as with Valgrind, whose suppressions
 * name the function. */
PUBLIC void *SYM(10090, C_LIB, realloc)(void *p, size_t n) {
    if (!p) return SYM(10010, C_LIB, malloc)(n);
    look_at(n);
    u64 moved = request(IP_HR_REALLOC, (u64)p, n, NAME("realloc"), 0, 0);
    if (!moved && n) no_memory();
    return (void *)moved;
}
ALSO(SYM(10090, SOMALLOC, realloc), SYM(10090, C_LIB, realloc));

PUBLIC void *SYM(10092, C_LIB, reallocarray)(void *p, size_t n, size_t size) {
    look_at((u64)p);
    look_at(n);
    look_at(size);
    u64 moved = request(IP_HR_REALLOCARRAY, (u64)p, n, size, NAME("reallocarray"), 0);
    if (!moved && n && size) no_memory();
    return (void *)moved;
}
ALSO(SYM(10092, SOMALLOC, reallocarray), SYM(10092, C_LIB, reallocarray));

/* Where it is one with memalign, as in glibc until 2.37, the one that lies higher holds (docs/spec/redirection.md,
 * section 4), which is memalign in Valgrind. */
PUBLIC void *SYM(10170, C_LIB, aligned_alloc)(size_t align, size_t n) {
    look_at(align);
    look_at(n);
    u64 p = request(IP_HR_MEMALIGN, align, n, IP_AK_MALLOC, IP_AH_ALIGNED_ALLOC, NAME("aligned_alloc"));
    if (p > IP_HR_REFUSED) return (void *)p;
    failed(p ? EINVAL : ENOMEM);
    return NULL;
}
ALSO(SYM(10170, SOMALLOC, aligned_alloc), SYM(10170, C_LIB, aligned_alloc));

PUBLIC void *SYM(10110, C_LIB, memalign)(size_t align, size_t n) {
    look_at(align);
    look_at(n);
    u64 p = request(IP_HR_MEMALIGN, align, n, IP_AK_MALLOC, IP_AH_MEMALIGN, NAME("memalign"));
    if (!p) failed(align > 1ull << 63 ? EINVAL : ENOMEM); /* no power of two is as great: glibc's */
    return (void *)p;
}
ALSO(SYM(10110, SOMALLOC, memalign), SYM(10110, C_LIB, memalign));

PUBLIC void *SYM(10120, C_LIB, valloc)(size_t n) {
    look_at(n);
    return OR_ENOMEM(request(IP_HR_MEMALIGN, 4096, n, IP_AK_MALLOC, IP_AH_PAGES, NAME("valloc")));
}
ALSO(SYM(10120, SOMALLOC, valloc), SYM(10120, C_LIB, valloc));

PUBLIC int SYM(10160, C_LIB, posix_memalign)(void **out, size_t align, size_t n) {
    look_at(align);
    look_at(n);
    u64 p = request(IP_HR_MEMALIGN, align, n, IP_AK_MALLOC, IP_AH_POSIX, NAME("posix_memalign"));
    if (p == IP_HR_REFUSED) return EINVAL;
    if (!p) {
        no_memory(); /* it is not for errno to tell, but the C library's leaves it so, and programs look */
        return ENOMEM;
    }
    *out = (void *)p;
    return 0;
}
ALSO(SYM(10160, SOMALLOC, posix_memalign), SYM(10160, C_LIB, posix_memalign));

PUBLIC void *SYM(10190, C_LIB, pvalloc)(size_t n) {
    look_at(n);
    u64 whole = n > ~4095ull ? n : (n + 4095) & ~4095ull; /* rounded up, that much would be nothing */
    return OR_ENOMEM(request(IP_HR_MEMALIGN, 4096, whole, IP_AK_MALLOC, IP_AH_PAGES, NAME("pvalloc")));
}
ALSO(SYM(10190, SOMALLOC, pvalloc), SYM(10190, C_LIB, pvalloc));

PUBLIC size_t SYM(10180, C_LIB, malloc_usable_size)(void *p) {
    look_at((u64)p);
    return request(IP_HR_USABLE, (u64)p, 0, 0, 0, 0);
}
ALSO(SYM(10180, SOMALLOC, malloc_usable_size), SYM(10180, C_LIB, malloc_usable_size));

/* A body of its own, or stacks would show either by the other's name. */
PUBLIC size_t SYM(10180, C_LIB, malloc_size)(void *p) {
    look_at((u64)p);
    return request(IP_HR_USABLE, (u64)p, 1, 0, 0, 0);
}
ALSO(SYM(10180, SOMALLOC, malloc_size), SYM(10180, C_LIB, malloc_size));

/* The C library's alone: other allocators' is often a function of one constant, which linkers fold into one with
 * hundreds of others (--icf: V8 has one with PartitionAlloc's), and what it sets, ours does not heed. */
PUBLIC int SYM(10140, C_LIB, mallopt)(int cmd, int value) {
    look_at((u64)cmd);
    look_at((u64)value);
    return 1;
}

PUBLIC int SYM(10150, C_LIB, malloc_trim)(size_t pad) {
    look_at(pad);
    return 0;
}
ALSO(SYM(10150, SOMALLOC, malloc_trim), SYM(10150, C_LIB, malloc_trim));

PUBLIC void SYM(10200, C_LIB, malloc_stats)(void) {}
ALSO(SYM(10200, SOMALLOC, malloc_stats), SYM(10200, C_LIB, malloc_stats));

struct mallinfo {
    int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo2 {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

PUBLIC struct mallinfo SYM(10210, C_LIB, mallinfo)(void) {
    u64 w[4] = {0};
    request(IP_HR_STATS, (u64)w, NAME("mallinfo"), 0, 0, 0);
    return (struct mallinfo){.arena = (int)w[0], .uordblks = (int)w[2], .fordblks = (int)(w[0] - w[2])};
}
ALSO(SYM(10210, SOMALLOC, mallinfo), SYM(10210, C_LIB, mallinfo));

PUBLIC struct mallinfo2 SYM(10215, C_LIB, mallinfo2)(void) {
    u64 w[4] = {0};
    request(IP_HR_STATS, (u64)w, NAME("mallinfo2"), 0, 0, 0);
    return (struct mallinfo2){.arena = w[0], .uordblks = w[2], .fordblks = w[0] - w[2]};
}
ALSO(SYM(10215, SOMALLOC, mallinfo2), SYM(10215, C_LIB, mallinfo2));

/* ---- Unwinding --------------------------------------------------------------------- */
struct eh_bases;
extern const void *interpose_find_fde_here(u64 pc, struct eh_bases *bases) __attribute__((visibility("hidden")));

/* As a jump, which leaves one frame in the stacks of what the unwinder does. */
PUBLIC const void *_vgw00000ZU_Za__Unwind_Find_FDE(u64 pc, struct eh_bases *bases) {
    return interpose_find_fde_here(pc, bases);
}
