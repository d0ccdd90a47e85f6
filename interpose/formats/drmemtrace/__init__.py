"""Offline memory traces in drmemtrace's form: one file a thread, of entries of 12 bytes.

:class:`~interpose.formats.drmemtrace.reader.Reader` delivers records as tools get them,
:class:`~interpose.formats.drmemtrace.writer.Writer` writes them, :mod:`~interpose.formats.drmemtrace.bulk`
has them as NumPy arrays, :mod:`~interpose.formats.drmemtrace.layout` finds the files of a folder.
"""
