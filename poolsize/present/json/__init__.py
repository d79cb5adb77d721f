"""Records as JSON objects for programs. Scripts depend on the keys, so the keys do not change."""
