"""Programs under interpose from Python: ``interpose.run`` and ``interpose.run_async`` (docs/python.md).

Nothing here is loaded by the command ``interpose``.
"""
