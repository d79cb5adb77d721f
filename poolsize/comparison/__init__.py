"""`poolsize compare`, and two servers measured in turn: the differences between runs, and which are significant."""
