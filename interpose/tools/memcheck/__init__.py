"""The memory error detector."""
