/* What Python calls in the extension.  cffi parses this file. */
#ifndef INTERPOSE_NATIVE_API_H
#define INTERPOSE_NATIVE_API_H

#include <stddef.h>
#include <stdint.h>

#include "abi/channel.h"
#include "abi/x86_insn.h"

/* ---- which build this is: that of the runtime, or they do not fit ---- */
uint32_t ip_build_id(void);

/* ---- decoder ---- */
int ip_decode(const uint8_t *code, size_t avail, uint64_t pc, struct ip_insn *out);
/* Near branches with an operand-size prefix as AMD's CPUs take them, or as Intel's; -1: as this CPU. */
void ip_decode_as_amd(int yes);
const char *ip_mnem_name(unsigned mnem);

/* ---- the six stages of any bytes, as text ---- */
/* stage 1..6; returns the length written; -1: no translation; -2: the verifier refuses it, and the text says
 * why.  hex of stage 6 in the text. */
int ip_show_stage(const char *tool, const uint8_t *code, size_t n, uint64_t pc, uint64_t flags, int track, int stage,
                  char *buf, int cap);
/* Translate bytes for a host address; returns code length, fills out. */
int ip_translate_bytes(const char *tool, const uint8_t *code, size_t n, uint64_t pc, uint64_t flags, int track,
                       int max_insns, uint32_t host, uint8_t *out, int cap);

/* ---- the supervisor's end, where there may be no memory left ---- */
/* Before the program runs, somebody waits at this socket to hear whether it can; -1: no longer. */
void ip_last_words_to(int sock_fd);
/* Lines go there instead of standard error. */
void ip_last_words_at(int fd);
/* We have said, or are about to say, why: the client need not. */
void ip_told(void);
/* One line, then the end. */
void ip_out_of_memory(void);
/* From now on the same for this process when Python gets no memory. */
void ip_guard_python(void);
/* The kernel lets programs use rdfsbase, wrgsbase and their like (AT_HWCAP2). */
int ip_has_fsgsbase(void);
/* A fault of this thread shows one line and the block under way, then the end. */
void ip_catch_faults(void);
/* Code of the user's runs in this thread from now on, called so ("hook f (file:1)"): a fault is not ours, and its
 * line says whose.  NULL: no longer. */
void ip_running(const char *what);

/* ---- the translation service of one client ---- */
/* Map the memfds, start the translator thread.  0 or -errno. */
int ip_service_start(int chan_fd, int cache_fd, int meta_fd, const char *tool, uint64_t flags, uint64_t cache_bytes,
                     int trace_fd, const char *trace_flags, uint64_t trace_from, uint64_t trace_to);
/* After os.fork() in the child supervisor: copy everything to new memfds.  0 or -errno. */
int ip_service_refork(int chan_fd, int cache_fd, int meta_fd, int old_meta_fd);
/* The client's /proc/PID/mem to fetch code from; 0: ask by its number. */
void ip_service_memory(int fd);
/* A file of the client's by its pidfd and its descriptor (pidfd_getfd(2)): a descriptor of ours, or -errno. */
int ip_descriptor_of(int pidfd, int fd);
/* New image in the same process (exec): forget all, new memfds. */
int ip_service_reset(int chan_fd, int cache_fd, int meta_fd);
/* In a forked process that will serve another image: forget the thread and the lock. */
void ip_service_abandon(void);
void ip_service_stop(void);
/* Functions for tools that trace (abi/trace.h): sorted ranges [lo, hi) and their numbers, which replace those between
 * the first and the last; 0, or -1: no memory. */
int ip_trace_functions_add(uint64_t n, const uint64_t *lo, const uint64_t *hi, const uint32_t *function);
/* Divide ranges in [lo, hi) whose functions have IP_CT_UNNAMED where functions begin: n pairs of .eh_frame_hdr's table,
 * from base on, ascending.  0, or -1: no memory. */
int ip_trace_parts_add(uint64_t lo, uint64_t hi, uint64_t n, const int32_t *table, uint64_t base);
void ip_trace_functions_del(uint64_t lo, uint64_t hi);
/* All templates that there are: as the client has them from IP_TRACE_BASE on, their bytes and the sum of their n_words.
 * Others come behind them, but these stay.  NULL: the tool does not trace. */
uint8_t *ip_trace_templates(uint64_t *bytes, uint64_t *words);
/* Our end of the socket to the program: end of file says that it is gone. */
void ip_service_socket(int fd);
/* The program's process, or -1. */
void ip_service_process(int pidfd);
void ip_service_lock(void);
void ip_service_unlock(void);
struct ip_chan *ip_service_chan(void);
struct ip_slot *ip_service_slot(int i);
/* Indices of the slots that belong to threads; how many. */
int ip_live_slots(uint32_t *out, int max);

/* --trace-flags, eight digits 0 or 1: the stages of blocks translated from now on go to fd. */
void ip_service_trace(int fd, const char *flags, uint64_t from, uint64_t to);

/* Bindings: guest address -> target.  inner: what runs there for a call without redirection, 0: the original. */
#define IP_BIND_WRAP 1 /* record the original for GET_ORIG_FN */
#define IP_BIND_USER 2 /* a wrapper or replacement that is none of ours */
void ip_bindings_set(uint64_t n, const uint64_t *addr, const uint64_t *target, const uint64_t *inner,
                     const uint8_t *kind);
void ip_bindings_del(uint64_t n, const uint64_t *addr);
/* The client need not ask about these indirect functions (struct ip_ahead) as long as they are met in this order, until
 * the list ends; then: how many were. */
void ip_ahead_set(uint32_t n, const uint64_t *resolver, const uint64_t *target);
uint32_t ip_ahead_end(void);
/* Code at [lo, hi) cannot change without an unmap. */
void ip_stable_add(uint64_t lo, uint64_t hi);
void ip_stable_del(uint64_t lo, uint64_t hi);
/* Code at [lo, hi) leaves the stack below RSP as defined as it was: for a language
 * that gives every variable a value, and whose runtime looks at dead stack words. */
void ip_keeps_stack_add(uint64_t lo, uint64_t hi);
void ip_keeps_stack_del(uint64_t lo, uint64_t hi);

/* ---- translations that outlast the run (docs/cache.md), once the service has started ---- */
/* writes: note what a file needs to have of each block, beyond a quarter megabyte in a file without a name in a folder
 * (its descriptor, or -1); max_bytes: of a file.  0 or -errno. */
int ip_keep_start(int writes, int folder, uint64_t max_bytes);
/* From now on blocks are noted, or not. */
void ip_keep_writes(int yes);
/* Another program begins; jumps: note where jumps are (IP_C_JUMPS) from its first block on, for it comes to have a
 * handler that may see that. */
void ip_keep_begin(int jumps);
/* Do blocks that are kept note where jumps are? */
int ip_keeps_jumps(void);
/* An image at [lo, hi) and its file, which is closed in time; -1: none.  How many blocks are kept there; -1: the file
 * is not what was written, or of another build. */
int64_t ip_keep_add(uint64_t lo, uint64_t hi, int fd);
/* How many blocks of it were made in this run, and so many more if some of what was kept was of no use. */
#define IP_KEEP_SPOILT 1000000000
uint64_t ip_keep_fresh(uint64_t lo, uint64_t hi);
/* All that is known of it into a new file, with what old_fd (or -1) has: how many blocks are new, or -errno. */
int64_t ip_keep_save(uint64_t lo, uint64_t hi, int old_fd, int new_fd);
/* How many blocks a file has, which is closed; -1: it is not what was written. */
int64_t ip_keep_check(int fd);
/* How many files, or pieces of them, were not what had been written. */
uint32_t ip_keep_damaged(void);

/* A debugger's breakpoint comes or goes: what was translated of its place is dropped. */
void ip_breakpoint(uint64_t pc, int set);
/* Accesses to memory are looked at from now on (ip_chan.debug_watched), or no longer: all translations are dropped. */
void ip_watching(int on);
/* Somebody has written to the program's memory from outside: the same. */
void ip_code_written(uint64_t addr, uint64_t len);
/* Large programs run code on thousands of pages (docs/measurements.md, point 17): each stretch that is full becomes one
 * page now. */
void ip_large_pages(void);
/* Have a thread of the client leave what it is in, for its next boundary.  0 or -errno. */
int ip_kick(int pid, int tid);
/* Python's side of the channel: the index of a slot with a request for Python,
 * -1 at time-out.  The GIL is released while it waits. */
int ip_next_event(int timeout_ms);
#define IP_EVENT_USED  (-2) /* a binding ran for the first time: see ip_next_used */
#define IP_EVENT_HEARD (-3) /* a watched file has something to say: see ip_watch */
void ip_tell_first_uses(int yes);
uint64_t ip_next_used(void); /* a binding's address, with IP_KEY_NOREDIR if its inner ran; 0: none left */
/* Answer it. */
void ip_reply(int slot);
void ip_wake_python(void);
/* Stand still if --delays says so (enum ip_delay). */
void ip_delay(int at);

/* Statistics: blocks, guest insns, bytes of code, nanoseconds, requests, and those that the program's own threads
 * answered. */
struct ip_service_stats {
    uint64_t blocks, insns, guest_bytes, host_bytes, ns, requests, here, flushes, chained, invalidated, compared, kept;
};
void ip_service_get_stats(struct ip_service_stats *s);
/* Text of the six stages of the newest block (for --stop-after and internal faults). */
int ip_last_block(char *buf, int cap);

#endif
