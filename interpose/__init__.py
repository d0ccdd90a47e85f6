"""Run an unmodified x86-64 Linux program on a synthetic CPU, with redirected functions and tools."""

__version__ = "0.1.0"
