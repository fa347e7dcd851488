"""pdbench: the iterated prisoner's dilemma between language models and classic policies."""

__version__ = "0.4.0"
