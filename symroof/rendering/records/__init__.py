"""Records: what the commands print as JSON."""
