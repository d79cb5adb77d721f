"""Sentences for findings, checks and bottlenecks; no other package words them."""
