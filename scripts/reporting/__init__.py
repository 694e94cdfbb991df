"""The report on traces: what a run did, step by step, and why it ended, as one HTML page."""
