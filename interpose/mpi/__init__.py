"""The MPI wrapper library: its table of functions, the generator of its wrappers, and how it is built."""
