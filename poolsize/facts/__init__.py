"""Facts that are known before anything is measured: the machine's and the server's."""
