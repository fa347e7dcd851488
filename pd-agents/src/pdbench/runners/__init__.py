"""Playing matches, one after another or side by side."""
