"""Callgrind: what each function, line and call of a program costs."""
