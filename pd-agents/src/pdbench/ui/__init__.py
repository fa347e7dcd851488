"""The read-only viewer."""
