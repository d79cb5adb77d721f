"""A load test out of production: what a server's log or statement history tells, as a workload for a sweep."""
