"""What a run has found out about files that others execute, too, kept on disk (docs/cache.md)."""
