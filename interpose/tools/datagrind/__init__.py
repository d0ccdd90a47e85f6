"""Datagrind: every access of a program to memory, in the file format of Valgrind's tool of that name."""
