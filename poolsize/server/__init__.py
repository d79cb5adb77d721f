"""The server under load: connections, a private server, the schemas that a sweep uses, and the counters."""
