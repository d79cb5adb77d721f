"""A pool's configuration: written for a stack, or read from a file and checked."""
