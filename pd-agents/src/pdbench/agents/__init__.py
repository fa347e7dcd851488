"""Who plays: classic policies and language models."""
