"""What ``scripts.compare`` is made of, from the contenders' turns to the charts."""
