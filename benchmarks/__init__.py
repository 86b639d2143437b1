"""Measures Keeps: `quality` of recall, and `speed` beside a floor of the same run."""
