"""A load test out of production: what a server's log or statement history says, as a workload for a sweep."""
