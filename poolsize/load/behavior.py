"""What a user does: its transactions, and its pause between them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from poolsize.load.pools import SHARED

Transaction = Callable[[Any], None]
"""A workload's transaction: a function of a PyMySQL cursor."""


@dataclass(frozen=True)
class Behavior:
    """What a user does.

    tasks: pairs of a kind's name and its transaction. Each transaction is of a random pair, and a pair that stands
    three times is three times as frequent.
    pause: returns the seconds until the user's next transaction in a closed loop; None for the plan's think time.
    pool: name of the pool that the user takes its connections from, as in Pools.
    """

    tasks: tuple[tuple[str, Transaction], ...]
    pause: Callable[[], float] | None = None
    pool: str = SHARED
