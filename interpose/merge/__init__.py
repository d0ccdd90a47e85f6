"""``interpose-merge``: the errors of many ranks' logs, each told once with the ranks that have it."""
