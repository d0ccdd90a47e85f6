/* The end of a supervisor that cannot go on: one message, and word to the client
 * that there was one.  Nothing here needs memory, or a Python that works: out of
 * memory, CPython may try for ever to make what it needs to handle its exception.
 */
#include <Python.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "jit/lastwords.h"

#define TEXT_BYTES  (1 << 18)
#define LARGE_BLOCK (1 << 20)

static struct ip_chan *chan;
static int launcher = -1; /* socket to the process that waits for us to start */
static int output = 2;
static char text[TEXT_BYTES];
static char running[512]; /* what of the user's runs, or "" */
static pthread_t running_in;

void ip_last_words_to(int sock_fd) { launcher = sock_fd; }
void ip_last_words_at(int fd) { output = fd; }
void ip_last_words_chan(struct ip_chan *c) { chan = c; }

static void say(const char *s, size_t n) {
    while (n > 0) {
        ssize_t w = write(output, s, n);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return;
        s += w;
        n -= (size_t)w;
    }
}

void ip_told(void) {
    static const char told = IP_TOLD;
    if (chan) __atomic_store_n(&chan->dead, IP_DEAD_TOLD, __ATOMIC_SEQ_CST);
    if (launcher >= 0 && write(launcher, &told, 1) < 0) launcher = -1;
}

void ip_out_of_memory(void) {
    static const char line[] =
        "interpose: out of memory, so the program cannot go on; check 'ulimit -v' and free memory\n";
    say(line, sizeof line - 1);
    ip_told();
    _exit(1);
}

/* ---- Python's memory ------------------------------------------------------------------ */

static PyMemAllocatorEx python_before[3]; /* by PyMemAllocatorDomain */

static void *or_the_end(void *p) {
    if (!p) ip_out_of_memory();
    return p;
}
static void *guarded_malloc(void *ctx, size_t size) {
    const PyMemAllocatorEx *a = ctx;
    return or_the_end(a->malloc(a->ctx, size));
}
static void *guarded_calloc(void *ctx, size_t n, size_t size) {
    const PyMemAllocatorEx *a = ctx;
    return or_the_end(a->calloc(a->ctx, n, size));
}
static void *guarded_realloc(void *ctx, void *old, size_t size) {
    const PyMemAllocatorEx *a = ctx;
    return or_the_end(a->realloc(a->ctx, old, size));
}
static void guarded_free(void *ctx, void *old) {
    const PyMemAllocatorEx *a = ctx;
    a->free(a->ctx, old);
}

/* A symbol table of a large program is read through tens of megabytes.  The C library, left alone, takes the first of
 * such blocks that is freed as a reason to cut the next ones from the heap, and keeps what is free at its end. */
static void give_memory_back(void) {
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK);
#endif
}

void ip_guard_python(void) {
    static int done;
    if (done++) return;
    give_memory_back();
    for (int domain = 0; domain < 3; domain++) {
        PyMemAllocatorEx *before = &python_before[domain];
        PyMemAllocatorEx guarded = {before, guarded_malloc, guarded_calloc, guarded_realloc, guarded_free};
        PyMem_GetAllocator((PyMemAllocatorDomain)domain, before);
        PyMem_SetAllocator((PyMemAllocatorDomain)domain, &guarded);
    }
}

/* ---- memory or the end -------------------------------------------------------------- */

void *ip_alloc(size_t n, size_t size) {
    void *p = calloc(n, size);
    if (!p) ip_out_of_memory();
    return p;
}

void *ip_realloc(void *old, size_t bytes) {
    void *p = realloc(old, bytes);
    if (!p) ip_out_of_memory();
    return p;
}

void tt_no_room(void) {
    ip_out_of_memory();
    __builtin_unreachable();
}

/* ---- faults of ours ------------------------------------------------------------------ */

void ip_internal_error(const char *what) {
    int n = snprintf(text, sizeof text,
                     "interpose: internal error: %s, translating 0x%llx; please report this with the lines below "
                     "and the program's name\n",
                     what, (unsigned long long)ip_newest_key());
    say(text, (size_t)n);
    ip_told();
    n = ip_newest_stages(text, sizeof text);
    if (n > 0) say(text, (size_t)n);
    _exit(1);
}

void tt_no_code(uint64_t key, const char *name, int number) {
    char what[120];
    snprintf(what, sizeof what, "no code for %s (%d) of the block at 0x%llx", name, number, (unsigned long long)key);
    ip_internal_error(what);
}

void ip_running(const char *what) {
    running_in = pthread_self();
    snprintf(running, sizeof running, "%s", what ? what : "");
}

static _Noreturn void users_fault(int sig, const siginfo_t *si) {
    static const char *const names[] = {
        [SIGSEGV] = "SIGSEGV", [SIGBUS] = "SIGBUS", [SIGILL] = "SIGILL", [SIGFPE] = "SIGFPE", [SIGABRT] = "SIGABRT"};
    char address[40] = "";
    if (si->si_code > 0) snprintf(address, sizeof address, " (address 0x%llx)", (unsigned long long)si->si_addr);
    int n = snprintf(text, sizeof text, "interpose: %s: %s%s ended the process that runs the hooks\n", running,
                     names[sig], address);
    say(text, (size_t)n);
    ip_told();
    _exit(1);
}

static void on_fault(int sig, siginfo_t *si, void *context) {
    const ucontext_t *uc = context;
    /* Shared memory has no page left to give (the disk of a tmpfs is memory, too). */
    if (sig == SIGBUS && si->si_code == BUS_ADRERR) ip_out_of_memory();
    if (running[0] && pthread_equal(pthread_self(), running_in)) users_fault(sig, si);
    char what[160];
    snprintf(what, sizeof what, "signal %d (code %d, address %p) in the supervisor at 0x%llx", sig, si->si_code,
             si->si_addr, (unsigned long long)uc->uc_mcontext.gregs[REG_RIP]);
    ip_internal_error(what); /* may fault again: the default action is back */
}

void ip_catch_faults(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    /* Not thread-local: where memory is short, the dynamic linker ends the process over a large block of that. */
    const size_t bytes = 64 << 10;
    void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t alternate = {.ss_sp = stack, .ss_size = bytes};
    if (stack != MAP_FAILED) sigaltstack(&alternate, NULL);
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &sa, NULL);
}
