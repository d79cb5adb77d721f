"""Published experiments, repeated on this machine: scenarios, and the survey of pools."""
