"""A run as one HTML file and one Markdown file, readable without a server."""
