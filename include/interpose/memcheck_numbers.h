/* The numbers of requests to memcheck (see numbers.h). */
#ifndef INTERPOSE_MEMCHECK_NUMBERS_H
#define INTERPOSE_MEMCHECK_NUMBERS_H

#define INTERPOSE_RQ_MC_MAKE_MEM_NOACCESS                     0x4d430000
#define INTERPOSE_RQ_MC_MAKE_MEM_UNDEFINED                    0x4d430001
#define INTERPOSE_RQ_MC_MAKE_MEM_DEFINED                      0x4d430002
#define INTERPOSE_RQ_MC_DISCARD                               0x4d430003
#define INTERPOSE_RQ_MC_CHECK_MEM_IS_ADDRESSABLE              0x4d430004
#define INTERPOSE_RQ_MC_CHECK_MEM_IS_DEFINED                  0x4d430005
#define INTERPOSE_RQ_MC_DO_LEAK_CHECK                         0x4d430006
#define INTERPOSE_RQ_MC_COUNT_LEAKS                           0x4d430007
#define INTERPOSE_RQ_MC_GET_VBITS                             0x4d430008
#define INTERPOSE_RQ_MC_SET_VBITS                             0x4d430009
#define INTERPOSE_RQ_MC_CREATE_BLOCK                          0x4d43000a
#define INTERPOSE_RQ_MC_MAKE_MEM_DEFINED_IF_ADDRESSABLE       0x4d43000b
#define INTERPOSE_RQ_MC_COUNT_LEAK_BLOCKS                     0x4d43000c
#define INTERPOSE_RQ_MC_ENABLE_ADDR_ERROR_REPORTING_IN_RANGE  0x4d43000d
#define INTERPOSE_RQ_MC_DISABLE_ADDR_ERROR_REPORTING_IN_RANGE 0x4d43000e

/* Of the replacement functions and of the engine, not of users. */
#define INTERPOSE_RQ_MC_RECORD_OVERLAP_ERROR 0x4d430100
#define INTERPOSE_RQ_MC_VERIFY_ALIGNMENT     0x4d430101
#define INTERPOSE_RQ_MC_IGNORED_BY_OPTION    0x4d430102

#endif
