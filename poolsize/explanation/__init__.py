"""What an error of a pool or of the server means: known texts, Little's law, causes."""
