"""`python -m poolsize` is the command `poolsize`."""

from poolsize.commands import main

main()
