"""What is under test: a server, the schema in it, and its counters."""
