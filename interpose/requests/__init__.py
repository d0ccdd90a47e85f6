"""Client requests: what the runtime does not answer alone (client-requests.md)."""
