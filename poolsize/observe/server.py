"""observe_server: what a server in production counts of each account's connections, read for a while."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from time import monotonic, sleep

import pymysql
from sqlalchemy import URL

from poolsize.errors import BadInput, PoolsizeError
from poolsize.observe.observation import Append
from poolsize.observe.server_period import Counters, ServerPeriod
from poolsize.observe.server_session import MOST_POOLS, Pool, ServerSession
from poolsize.server.connection import NoAnswer, error_kind

PERIOD_SECONDS = 60
RECONNECT_SECONDS = 30
"""The longest time without the server, after which an observation ends."""
GONE_SECONDS = 600
"""A pool without a connection for so long has vanished, as that of a process that was replaced."""
LAST_SECONDS = 2
"""The longest time for the last reading, after Ctrl-C."""


def observe_server(
    url: URL,
    seconds: float,
    append: Append,
    note: Callable[[str], None],
    progress: Callable[[float], None] = lambda _: None,
) -> bool:
    """Read what the server counts for so many seconds, at most a query a second; Ctrl-C ends it sooner.

    Return whether the server was there until the end.

    append: stores a period of a minute, when it ends; the last may be shorter. note: shows a line of what could not be
    read, and of how to. progress: hears the seconds that have passed, about once a second.
    Raises BadInput where the server can't be reached, and what `append` raises. A server that goes away later ends the
    observation, unless it comes back within RECONNECT_SECONDS.
    """
    session: ServerSession | None = (opened := ServerSession(url))
    started = monotonic()
    ends_at = started + seconds
    pools: dict[Pool, float] = {}
    before: Counters | None = None
    try:
        for line in opened.notes:
            note(line)
        while session is not None and (left := ends_at - monotonic()) > 0.01:
            session.end_within(left + LAST_SECONDS)
            period = ServerPeriod(session, before)
            ending: BaseException | None = None
            try:
                period.read(min(PERIOD_SECONDS, left), lambda: progress(monotonic() - started))
            except (pymysql.MySQLError, KeyboardInterrupt) as error:
                ending = error
            if isinstance(ending, KeyboardInterrupt):
                session.end_within(LAST_SECONDS)
                with suppress(pymysql.MySQLError):
                    period.end()
            before = period.after
            pools = _still_there(pools, period.pools, monotonic())
            append(period.pool_spans(pools), period.server_span())
            if isinstance(ending, KeyboardInterrupt):
                break
            if ending is not None:
                session.close()
                session = _reconnected(url, ending, note, ends_at)
    except KeyboardInterrupt:
        pass
    finally:
        if session is not None:
            session.close()
    return session is not None


def _still_there(pools: Mapping[Pool, float], seen: Iterable[Pool], now: float) -> dict[Pool, float]:
    """Return the pools of before, and those that were seen in a period, without those that have vanished.

    Pool -> when it was seen last. A pool that closed its connections counts for a while, with none in use.
    """
    there = {pool: at for pool, at in pools.items() if now - at < GONE_SECONDS} | dict.fromkeys(sorted(seen), now)
    return dict(islice(there.items(), MOST_POOLS))


def _reconnected(
    url: URL, lost: pymysql.MySQLError, note: Callable[[str], None], ends_at: float
) -> ServerSession | None:
    """Return a new session; None where the server does not come back in time, or refuses."""
    now, since = monotonic(), f"{datetime.now(UTC):%H:%M:%S} UTC"
    while monotonic() < min(now + RECONNECT_SECONDS, ends_at):
        try:
            session = ServerSession(url)
        except PoolsizeError as error:
            if isinstance(error, BadInput) and not isinstance(error, NoAnswer):
                note(f"The observation ends at {since}: the server refuses a connection that it accepted before.")
                return None
            sleep(1)
        else:
            note(f"The connection was lost at {since} ({error_kind(lost)}), for {monotonic() - now:.0f} s.")
            return session
    note(f"The observation ends at {since}: the connection was lost ({error_kind(lost)}), and did not come back.")
    return None
