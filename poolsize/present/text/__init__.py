"""Everything as text for a terminal."""
