"""Where a language model's answers come from."""
