/* The numbers of the requests: the one place where they stand, for programs, for the engine and for Python.
 *
 * Nothing but #defines of numbers: the engine's build reads this text, too.  Those of a tool are in its own header,
 * NAME_numbers.h.
 */
#ifndef INTERPOSE_NUMBERS_H
#define INTERPOSE_NUMBERS_H

#define INTERPOSE_RQ_RUNNING                        0x1001
#define INTERPOSE_RQ_DISCARD_TRANSLATIONS           0x1002
#define INTERPOSE_RQ_REPLACES_MALLOC                0x1003
#define INTERPOSE_RQ_GET_TOOLNAME                   0x1004
#define INTERPOSE_RQ_CLIENT_CALL0                   0x1101
#define INTERPOSE_RQ_CLIENT_CALL1                   0x1102
#define INTERPOSE_RQ_CLIENT_CALL2                   0x1103
#define INTERPOSE_RQ_CLIENT_CALL3                   0x1104
#define INTERPOSE_RQ_COUNT_ERRORS                   0x1201
#define INTERPOSE_RQ_GDB_MONITOR_COMMAND            0x1202
#define INTERPOSE_RQ_CLO_CHANGE                     0x1203
#define INTERPOSE_RQ_REPORT_MARK                    0x1204
#define INTERPOSE_RQ_MALLOCLIKE_BLOCK               0x1301
#define INTERPOSE_RQ_RESIZEINPLACE_BLOCK            0x130b
#define INTERPOSE_RQ_FREELIKE_BLOCK                 0x1302
#define INTERPOSE_RQ_CREATE_MEMPOOL                 0x1303
#define INTERPOSE_RQ_DESTROY_MEMPOOL                0x1304
#define INTERPOSE_RQ_MEMPOOL_ALLOC                  0x1305
#define INTERPOSE_RQ_MEMPOOL_FREE                   0x1306
#define INTERPOSE_RQ_MEMPOOL_TRIM                   0x1307
#define INTERPOSE_RQ_MOVE_MEMPOOL                   0x1308
#define INTERPOSE_RQ_MEMPOOL_CHANGE                 0x1309
#define INTERPOSE_RQ_MEMPOOL_EXISTS                 0x130a
#define INTERPOSE_RQ_PRINTF                         0x1401
#define INTERPOSE_RQ_PRINTF_BACKTRACE               0x1402
#define INTERPOSE_RQ_PRINTF_VALIST_BY_REF           0x1403
#define INTERPOSE_RQ_PRINTF_BACKTRACE_VALIST_BY_REF 0x1404
#define INTERPOSE_RQ_STACK_REGISTER                 0x1501
#define INTERPOSE_RQ_STACK_DEREGISTER               0x1502
#define INTERPOSE_RQ_STACK_CHANGE                   0x1503
#define INTERPOSE_RQ_LOAD_PDB_DEBUGINFO             0x1601
#define INTERPOSE_RQ_MAP_IP_TO_SRCLOC               0x1701
#define INTERPOSE_RQ_CHANGE_ERR_DISABLEMENT         0x1801
#define INTERPOSE_RQ_VEX_INIT_FOR_IRI               0x1901
#define INTERPOSE_RQ_INNER_THREADS                  0x1902

#define INTERPOSE_RQ_HOOK 0x3201 /* of the stubs of hooks alone */

/* Of preload libraries, not of users. */
#define INTERPOSE_RQ_FREERES_DONE                  0x3029
#define INTERPOSE_RQ_GET_MALLOCFUNCS               0x3030
#define INTERPOSE_RQ_INTERNAL_PRINTF_VALIST_BY_REF 0x3103
#define INTERPOSE_RQ_ADD_IFUNC_TARGET              0x3104

#endif
