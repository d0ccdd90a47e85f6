/* What the wrapper library prints, and MPIWRAP_DEBUG, which says how much. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpiwrap.h"

int ip_world_rank = -1;
bool ip_verbose, ip_quiet, ip_warn, ip_strict, ip_has_bits;

static const char help[] = "interpose MPI wrappers: MPIWRAP_DEBUG takes, with commas between them,\n"
                           "   quiet     print only errors\n"
                           "   verbose   print each call, and requests as they begin and complete\n"
                           "   warn      print a warning where a function without a wrapper of its own is called\n"
                           "   strict    end the program there\n"
                           "   help      print this\n";

/* To the engine's log; to standard error where there is no engine. */
static void print(bool with_stack, const char *format, va_list words) {
    char text[2048];
    vsnprintf(text, sizeof text, format, words);
    int printed = with_stack ? INTERPOSE_PRINTF_BACKTRACE("MPI: %s\n", text) : INTERPOSE_PRINTF("MPI: %s\n", text);
    if (printed > 0) return;
    if (ip_world_rank >= 0)
        fprintf(stderr, "interpose MPI wrappers, rank %d: %s\n", ip_world_rank, text);
    else
        fprintf(stderr, "interpose MPI wrappers %d: %s\n", (int)getpid(), text);
}

void ip_say(const char *format, ...) {
    va_list words;
    va_start(words, format);
    print(false, format, words);
    va_end(words);
}

void ip_say_where(const char *format, ...) {
    va_list words;
    va_start(words, format);
    print(true, format, words);
    va_end(words);
}

static void option(const char *word, size_t length) {
    static const struct {
        const char *name;
        bool *flag;
    } options[] = {{"quiet", &ip_quiet}, {"verbose", &ip_verbose}, {"warn", &ip_warn}, {"strict", &ip_strict}};
    for (size_t i = 0; i < IP_COUNT_OF(options); i++)
        if (strlen(options[i].name) == length && memcmp(options[i].name, word, length) == 0) {
            *options[i].flag = true;
            return;
        }
    if (length == 4 && memcmp(word, "help", 4) == 0) {
        fputs(help, stderr);
        return;
    }
    if (length) ip_say("MPIWRAP_DEBUG has no option '%.*s'; help lists those that there are", (int)length, word);
}

static void start(void) {
    char byte = 0, bits;
    ip_has_bits = INTERPOSE_GET_VBITS(&byte, &bits, 1) == 1;
    const char *words = getenv("MPIWRAP_DEBUG");
    bool asked = words && *words;
    while (words && *words) {
        size_t length = strcspn(words, ",");
        option(words, length);
        words += length + (words[length] == ',');
    }
    if (ip_quiet) return;
    ip_say("Active for pid %d", (int)getpid());
    if (!asked) ip_say("Try MPIWRAP_DEBUG=help for possible options");
}

void ip_start(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
}

void ip_where(const void *caller, char text[256]) {
    const char *at = (const char *)caller - 1;
    char line[64] = "";
    INTERPOSE_MAP_IP_TO_SRCLOC(at, line);
    Dl_info info = {0};
    bool known = dladdr(at, &info) != 0;
    /* As addr2line wants it, where there is nobody who knows lines. */
    if (line[0])
        snprintf(text, 256, "%s", line);
    else if (known && info.dli_sname)
        snprintf(text, 256, "%.80s, %.120s+0x%lx", info.dli_sname, info.dli_fname,
                 (long)(at - (const char *)info.dli_fbase));
    else if (known)
        snprintf(text, 256, "%.200s+0x%lx", info.dli_fname, (long)(at - (const char *)info.dli_fbase));
    else
        snprintf(text, 256, "%p", (const void *)at);
}

/* Places that something was said about; a place that does not fit in any more is said nothing about. */
bool ip_first_time(const void *caller, const char *function, const char *what) {
    static struct {
        const void *caller;
        const char *function, *what;
    } told[1024];
    static size_t n;
    bool is_new = true;
    ip_lock();
    for (size_t i = 0; is_new && i < n; i++)
        is_new = told[i].caller != caller || told[i].function != function || told[i].what != what;
    if (n == IP_COUNT_OF(told))
        is_new = false;
    else if (is_new) {
        told[n].caller = caller;
        told[n].function = function;
        told[n++].what = what;
    }
    ip_unlock();
    return is_new;
}
