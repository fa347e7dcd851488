"""The bench: asking, reading, keeping. Knows nothing of any experiment."""

VERSION = "0.1.0"
