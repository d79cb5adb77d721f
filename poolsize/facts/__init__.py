"""What is known before anything is measured: the machine and the server."""
