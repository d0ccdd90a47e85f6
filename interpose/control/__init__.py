"""``interpose-control``: asks running programs for their state and for dumps, and changes what they count."""
