/* What memtrace's part in the program writes to disk.  cffi parses this file.
 *
 * raw/records.bin: struct ip_mtr_head, then frames, each struct ip_mtr_frame and its bytes: what a thread has recorded
 * (abi/trace.h, with the events below, packed as trace/pack.h says; one stream over all frames of a thread, none of
 * which ends in one of the packed ones), or templates, those of the meta memory from its beginning on.  A template's
 * frame comes before all that name it.  The file may end anywhere: whoever finishes it takes what is whole. */
#ifndef INTERPOSE_MEMTRACE_ABI_H
#define INTERPOSE_MEMTRACE_ABI_H

#include <stdint.h>

#define IP_MTR_MAGIC 0x3230776172746d69 /* "imtraw02" */

struct ip_mtr_head {
    uint64_t magic;
    uint64_t templates; /* what the records call the first byte of the templates */
    uint64_t pid;
    uint64_t layout; /* PK_LAYOUT */
};

struct ip_mtr_frame {
    uint32_t tid;    /* 0: templates */
    uint32_t number; /* of the thread: 1, 2, ... in the order in which they began */
    uint64_t bytes;
};

enum ip_mtr_word {                 /* of ip_chan.tool */
                   IP_MTR_AFTER,   /* instructions before the first window */
                   IP_MTR_FOR,     /* of a window; 0: it has no end */
                   IP_MTR_EVERY,   /* between two windows; 0: there is only one */
                   IP_MTR_MOST,    /* bytes of a thread's records; 0: any */
                   IP_MTR_ONLY,    /* number of the thread to record; 0: all */
                   IP_MTR_FAILED,  /* the program's part to ours: errno with which writing has ended */
                   IP_MTR_NO_ROOM, /* there was code that has no template */
};

/* Events (enum ip_tr_event, IP_TR_TOOL and on): of windows. */
#define IP_MTR_WINDOW 64 /* a window begins: its number, how many instructions of the next run are left out */
#define IP_MTR_CUT    65 /* it ends in the next run: how many of its instructions still count */

#endif
