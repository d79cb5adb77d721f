"""The connections that the server refused, as text for a terminal."""

from collections.abc import Sequence

from poolsize.answer.fleet import ServerLimit
from poolsize.answer.refused import Refused
from poolsize.present.text.bullets import bullets
from poolsize.present.text.table import Table
from poolsize.units import count, percent

COLUMNS = ("all pools", "failed transactions", "errors")


def refused_text(refusals: Sequence[Refused]) -> str:
    """Return a table of the failed transactions by size, and the pools that stay within the limit.

    refusals: at least one.
    """
    rows = tuple(
        (f"{refused.connections:,}", percent(refused.failed), ", ".join(refused.errors) or "none")
        for refused in refusals
    )
    return f"{Table(COLUMNS, rows).as_text()}\n\n{bullets([_fleet(refusals[0])])}"


def _fleet(refused: Refused) -> str:
    reserve, surge = ServerLimit().reserve, ServerLimit().surge
    server = f"The server admits {count(refused.limit, 'connection')}"
    if refused.fleet_pool is None:
        return f"{server}: too few for {count(refused.pools, 'pool')} and {reserve} for others."
    return (
        f"{server}. `poolsize fleet` gives each of {count(refused.pools, 'pool')} "
        f"{count(refused.fleet_pool, 'connection')}: {refused.pools * refused.fleet_pool:,} together, and {reserve} "
        f"stay free for others in a rolling deploy with {surge:.0%} more pools."
    )
