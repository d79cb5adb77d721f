"""`poolsize predict`: the throughput and latencies of a run with other cores, another round trip, or other users."""
