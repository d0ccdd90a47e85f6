"""Memory traces: every instruction and access, in drmemtrace's offline form."""
