/* What a file needs to have of each block and the tables of the translator do not say, until the run's end.  As large
 * as the translations themselves, so it waits in a file without a name: a compiler's notes are 100 MB. */
#include "jit/keep.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_all(int fd, const uint8_t *from, size_t n, uint64_t at) {
    while (n) {
        ssize_t put = pwrite(fd, from, n, (off_t)at);
        if (put <= 0) return false;
        from += put;
        at += (size_t)put;
        n -= (size_t)put;
    }
    return true;
}

/* Some file systems (overlayfs of older kernels, NFS) make none without a name, so it has one for a moment: of a kind
 * that is removed if we are killed in that (cache/folder.py). */
static int nameless_file(int folder) {
    int fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    char name[32];
    snprintf(name, sizeof name, ".new-notes-%d", (int)getpid());
    fd = openat(folder, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) unlinkat(folder, name, 0);
    return fd;
}

void keep_spill(struct note_store *s) {
    if (s->fd < 0 && s->folder >= 0) s->fd = nameless_file(s->folder);
    if (s->fd < 0 || s->spilled > KEEP_SPILLED || !write_all(s->fd, s->piece, s->used, s->spilled)) {
        s->full = true; /* what has been noted is good */
        return;
    }
    s->spilled += s->used;
    s->used = 0;
}

/* Numbers are asked for in ascending order, so a window of the file serves many. */
const struct note *keep_note(struct note_store *s, uint32_t number) {
    uint64_t at = (uint64_t)(number - 1) * KEEP_UNIT;
    if (at >= s->spilled) return (const void *)(s->piece + (at - s->spilled));
    if (at < s->window_at || at + KEEP_NOTE > s->window_at + s->window_n) {
        if (!s->window) s->window = malloc(KEEP_PIECE);
        if (!s->window) return NULL;
        uint64_t n = s->spilled - at < KEEP_PIECE ? s->spilled - at : KEEP_PIECE;
        s->window_n = 0;
        if (pread(s->fd, s->window, n, (off_t)at) != (ssize_t)n) return NULL;
        s->window_at = at;
        s->window_n = (uint32_t)n;
        if (n < KEEP_NOTE) memset(s->window + n, 0, KEEP_NOTE - n);
    }
    return (const void *)(s->window + (at - s->window_at));
}

void keep_notes_forget(struct note_store *s) {
    if (s->fd >= 0) close(s->fd);
    free(s->window);
    *s = (struct note_store){.folder = s->folder, .fd = -1, .piece = s->piece};
}
