"""The sentences of findings, checks and bottlenecks."""
