"""How results are shown: pages, plots, figures, the index of runs. Knows no study and no call."""
