"""Random runs: what they are made of, how they are played, and what must hold of each."""
