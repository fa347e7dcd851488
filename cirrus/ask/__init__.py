"""What a model is asked: words, design, encounters and their game, simulated respondents."""
