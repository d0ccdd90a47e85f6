/* What memcheck in the client and memcheck in the supervisor say to each other.  cffi reads this file, too. */
#ifndef INTERPOSE_MEMCHECK_ABI_H
#define INTERPOSE_MEMCHECK_ABI_H

/* Memcheck's client requests, less 0x4D430000 (docs/spec/client-requests.md section 4). */
enum ip_mc_request {
    IP_MC_MAKE_MEM_NOACCESS,
    IP_MC_MAKE_MEM_UNDEFINED,
    IP_MC_MAKE_MEM_DEFINED,
    IP_MC_DISCARD,
    IP_MC_CHECK_MEM_IS_ADDRESSABLE,
    IP_MC_CHECK_MEM_IS_DEFINED,
    IP_MC_DO_LEAK_CHECK,
    IP_MC_COUNT_LEAKS,
    IP_MC_GET_VBITS,
    IP_MC_SET_VBITS,
    IP_MC_CREATE_BLOCK,
    IP_MC_MAKE_MEM_DEFINED_IF_ADDRESSABLE,
    IP_MC_COUNT_LEAK_BLOCKS,
    IP_MC_ENABLE_ADDR_ERRORS,
    IP_MC_DISABLE_ADDR_ERRORS,
    IP_MC_RECORD_OVERLAP_ERROR = 0x100,
    IP_MC_VERIFY_ALIGNMENT = 0x101
};

#endif
