"""Client requests: what the runtime does not answer alone (docs/spec/client-requests.md)."""
