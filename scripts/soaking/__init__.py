"""What `scripts/soak.py` is made of: marked runs, the service and tools that they meet, and the demands."""
