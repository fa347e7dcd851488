"""The configuration: what may be written, and how it is read."""
