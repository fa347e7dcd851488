"""What a run leaves on disk, and what is computed from it."""
