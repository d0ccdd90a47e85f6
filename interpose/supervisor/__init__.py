"""The supervisor: the process beside the client that answers its requests."""
