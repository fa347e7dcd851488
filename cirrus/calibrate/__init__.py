"""Planted populations through the pipeline, and the table of what was said of them."""
