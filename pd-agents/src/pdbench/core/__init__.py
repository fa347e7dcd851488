"""Rules of the game, randomness, reading of answers and metrics: no file or network access."""
