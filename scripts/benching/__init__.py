"""What ``scripts.bench`` measures: steps, growth, many runs at once, start-up."""
