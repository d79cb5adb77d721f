"""The libraries: the names, defaults and limits of their settings, and what is wrong with a pool of each."""
