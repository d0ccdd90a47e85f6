"""``interpose-vgdb``: monitor commands from a shell, and the way from gdb to a program."""
