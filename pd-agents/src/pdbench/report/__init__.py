"""A run as one HTML file and one Markdown file, readable without a server."""

from pdbench import __version__ as VERSION

__all__ = ["VERSION"]
