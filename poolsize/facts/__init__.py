"""Facts of the machine and of the server, read before a measurement, and the server's counters during it."""
