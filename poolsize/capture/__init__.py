"""A load test out of production: the transactions in a server's log or statement history, as a workload for a sweep."""
