/* Requests to datagrind: marks for its views of space and time. */
#ifndef INTERPOSE_DATAGRIND_H
#define INTERPOSE_DATAGRIND_H

#include "interpose.h"
#include "datagrind_numbers.h"

/* A range of memory of interest, the name of its type, and what to call it. */
#define INTERPOSE_DATAGRIND_TRACK_RANGE(addr, len, type, label)                                                        \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_DG_TRACK_RANGE, addr, len, type, label, 0)
#define INTERPOSE_DATAGRIND_UNTRACK_RANGE(addr, len)                                                                   \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_DG_UNTRACK_RANGE, addr, len, 0, 0, 0)

/* A time of interest. */
#define INTERPOSE_DATAGRIND_START_EVENT(label) INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_DG_START_EVENT, label, 0, 0, 0, 0)
#define INTERPOSE_DATAGRIND_END_EVENT(label)   INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_DG_END_EVENT, label, 0, 0, 0, 0)

/* The other spelling, unless its own header came first (see spelling.h). */
#ifndef __DATAGRIND_H
#define __DATAGRIND_H

#define DATAGRIND_TRACK_RANGE   INTERPOSE_DATAGRIND_TRACK_RANGE
#define DATAGRIND_UNTRACK_RANGE INTERPOSE_DATAGRIND_UNTRACK_RANGE
#define DATAGRIND_START_EVENT   INTERPOSE_DATAGRIND_START_EVENT
#define DATAGRIND_END_EVENT     INTERPOSE_DATAGRIND_END_EVENT

#endif
#endif
