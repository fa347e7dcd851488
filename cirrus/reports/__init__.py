"""One report a study."""
