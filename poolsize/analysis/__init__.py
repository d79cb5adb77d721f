"""Run -> Analysis: what the measurements say, without a server and without an opinion."""
