"""What `scripts/fuzz.py` is made of: a module for each target, the corpus, and the search."""
