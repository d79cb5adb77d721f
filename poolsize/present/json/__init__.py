"""Everything as one JSON object for a program; the keys are a contract."""
