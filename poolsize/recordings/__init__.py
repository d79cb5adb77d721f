"""Curves that others measured, and how they become recordings."""
