/* Memory and the lock of the wrapper library.
 *
 * Blocks of powers of two from mappings of its own, so that the program's heap summary and leak search are as they
 * are without the wrappers.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpiwrap.h"

enum { SMALLEST = 5, LARGEST = 20, CHUNK = 1 << 20 };

struct header {
    size_t mapped; /* bytes of a mapping of its own, or 0 */
    unsigned class;
    struct header *next;
};
_Static_assert(sizeof(struct header) <= 32, "a header fits into the smallest class");

static pthread_mutex_t allocating = PTHREAD_MUTEX_INITIALIZER, tables = PTHREAD_MUTEX_INITIALIZER;
static struct header *unused[LARGEST + 1];
static char *rest;
static size_t rest_size;

static void *map(size_t size) {
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        ip_say("out of memory (%zu bytes): the program ends", size);
        _exit(1);
    }
    return at;
}

void *ip_alloc(size_t size) {
    size_t whole = size + sizeof(struct header);
    if (whole > (size_t)1 << LARGEST) {
        struct header *block = map(whole);
        block->mapped = whole;
        return block + 1;
    }
    unsigned class = SMALLEST;
    while (((size_t)1 << class) < whole) class ++;
    pthread_mutex_lock(&allocating);
    struct header *block = unused[class];
    if (block) {
        unused[class] = block->next;
    } else {
        if (rest_size < (size_t)1 << class) {
            rest = map(CHUNK); /* what was left of the last one is less than a block and lost */
            rest_size = CHUNK;
        }
        block = (struct header *)rest;
        rest += (size_t)1 << class;
        rest_size -= (size_t)1 << class;
    }
    pthread_mutex_unlock(&allocating);
    block->class = class;
    block->mapped = 0;
    return memset(block + 1, 0, size);
}

void ip_free(void *block) {
    if (!block) return;
    struct header *header = (struct header *)block - 1;
    if (header->mapped) {
        munmap(header, header->mapped);
        return;
    }
    pthread_mutex_lock(&allocating);
    header->next = unused[header->class];
    unused[header->class] = header;
    pthread_mutex_unlock(&allocating);
}

void ip_lock(void) { pthread_mutex_lock(&tables); }

void ip_unlock(void) { pthread_mutex_unlock(&tables); }
