"""What the commands share, those of the core and of the wings: options, and the files and servers that they read."""
