"""Analyses, answers, predictions and comparisons as text for a terminal."""
