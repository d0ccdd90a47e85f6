"""Command-line options as data: one declarative table per owner (the core, each tool), one parser for all.

``spec`` is the vocabulary of a table, ``core`` the core's table, ``sources`` finds and splits the texts,
``parse`` makes a frozen :class:`~interpose.options.parse.Config` of them, ``helptext`` and ``document`` print
the table.  Each tool keeps its own table in ``interpose/tools/<name>/options.py``.
"""
