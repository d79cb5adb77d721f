"""DryRun: what a sweep would do to its server."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Occasion(StrEnum):
    """When a sweep runs the statements that a dry run shows.

    Not shown is what poolsize reads between steps, its locks, and the list that it keeps of its own tables.
    """

    TABLES = "tables"
    BEFORE_STEP = "before_step"
    TRANSACTION = "transaction"
    SECOND = "second"
    END = "end"


@dataclass(frozen=True)
class StatementGroup:
    """The statements of an occasion. statements: each with how often statements of its form follow each other.

    " ..." at the end of a statement means that it is longer.
    """

    occasion: Occasion
    statements: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class DryRun:
    """What a sweep would do to its server; nothing of it was done.

    server: name, version and address. limit: connections that it admits. pool_connections: of the largest pool.
    own_connections: poolsize's own. reserve: connections that stay free. users: concurrent users.
    sizes: of a grid. search: the smallest and the largest pool size of a search, or None.
    load_seconds: planned seconds of load, of a search at most. rate: arrivals per second in an open loop, or None.
    """

    server: str
    limit: int
    pool_connections: int
    own_connections: int
    reserve: int
    users: int
    sizes: tuple[int, ...]
    search: tuple[int, int] | None
    load_seconds: int
    rate: float | None
    groups: tuple[StatementGroup, ...]
    kind: Literal["dry_run"] = "dry_run"
