"""A run as one HTML file and one Markdown file, readable without a server.

`look.py`, `figures.py` and `page.py` are copies of the bench's own: all its reports look alike.
"""

from pdbench import __version__ as VERSION

__all__ = ["VERSION"]
