/* Ends the call frame information that heap_stubs.c gives to __register_frame; linked last. */
        .section .eh_frame, "a", @progbits
        .long   0
        .section .note.GNU-stack, "", @progbits
