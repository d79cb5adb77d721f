"""Findings, checks and bottlenecks as sentences: the only place that words them."""
