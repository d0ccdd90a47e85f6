/* What is noted of the program's descriptors (abi/descriptors.h). */
#ifndef INTERPOSE_FD_NOTES_H
#define INTERPOSE_FD_NOTES_H

#include "abi/descriptors.h"
#include "runtime/base/rt.h"

/* What a descriptor is. */
struct fd_text {
    int domain;
    u32 name_bytes, peer_bytes, path_bytes;
    u8 bytes[128 + 128 + 1024]; /* name, peer, path, one behind the other */
};

struct fd_stack {
    u32 n;
    u64 frames[IP_FD_FRAMES];
};

struct ip_fds *fd_notes(void);
/* In table files: what it is, and where that happened. */
void fd_note_inherited(u32 files, int fd, const struct fd_text *text);
void fd_note_opened(u32 files, int fd, const struct fd_text *text, const struct fd_stack *where);
void fd_note_closing(u32 files, int fd, const struct fd_text *text, const struct fd_stack *where);
/* It is something else by now, if it was noted as open. */
void fd_note_changed(u32 files, int fd, const struct fd_text *text);
/* It is not open: what is known of it, or NULL. */
struct ip_fd *fd_note_gone(u32 files, int fd);
/* Table to begins as a copy; nobody uses that table any more. */
void fd_note_copy(u32 from, u32 to);
void fd_note_drop(u32 files);
void fd_notes_hold(bool hold);

#endif
