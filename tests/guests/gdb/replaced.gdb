#options --vgdb-error=0
#tools memcheck
#flags -fno-builtin -Wl,-z,lazy
#before set sysroot /
# The stack is whole in them, and a step goes out of them; one over a call that the dynamic linker binds meanwhile
# stops in nothing of ours.
break 16
continue
#: Breakpoint 1, main
next
#: ^17
continue
#: SIGTRAP
backtrace
#: ^#0 .*libcZdsoZa_memset
#: ^#1 .* in fill \(block=
#: ^#2 .* in main
info sharedlibrary
#: \(\*\) .*interpose-stubs-symbols\.so
#: libc\.so\.6
step
# gdb 18 goes on to the next line's begin.
#: ^(?:fill \(block=|main \(\))
delete
continue
backtrace
#: ^#0 .*libcZdsoZa_memmove
#: ^#1 .* in copy \(block=
#: ^#2 .* in main
finish
#: ^copy \(block=
continue
backtrace
#: ^#0 .*libcZdsoZa_free
#: ^#1 .* in main
kill
