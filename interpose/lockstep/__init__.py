"""Lockstep mode: the same program translated and on the real CPU, side by side, until they differ.

``python -m interpose.lockstep [options] program [arguments]``; see ``docs/lockstep.md``.
"""
