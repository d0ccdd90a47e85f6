"""``interpose-annotate``: callgrind profiles as text, as files for other viewers, or as one HTML page."""
