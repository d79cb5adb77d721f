"""Models of throughput and latency: each has its equation and its source."""
