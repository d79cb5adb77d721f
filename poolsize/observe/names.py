"""Names that strangers gave, as a terminal may show them."""

from poolsize.bounds import LONGEST_NAME_SHOWN, shortened
from poolsize.terminal import visible


def shown(name: str) -> str:
    """Return the name of a pool on one line, without control characters."""
    return shortened(" ".join(visible(name).split()), LONGEST_NAME_SHOWN) or "(no name)"
