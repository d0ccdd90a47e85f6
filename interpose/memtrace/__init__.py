"""Analyses of memory traces: ``interpose-memtrace TOOL FOLDER``.

A tool is a map over pieces of a trace (chunks of a file) and a merge of what that gives, in order; so the
same code runs in this process, over the cores of a machine, and on a cluster.
"""
