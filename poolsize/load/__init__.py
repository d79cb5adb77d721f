"""One worker's load: the pool, the loops that use it, and what is recorded of them."""
