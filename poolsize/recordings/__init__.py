"""Recorded throughput curves: published figures, CSV files, and imports from other load tools."""
