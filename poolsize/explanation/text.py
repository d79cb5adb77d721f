"""An explained error in words, and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TypedDict

from poolsize.explanation.causes import Cause, advice, first_action, is_at_ease
from poolsize.explanation.events import LONG_USAGE_MS, OF_POOL, STARTS, WAIT_TIMEOUT_MS, Event, Use
from poolsize.explanation.texts import Kind, Numbers
from poolsize.present.text.layout import UNKNOWN, Table, bullets, paragraph
from poolsize.units import count, number

MOST_MINUTES_SHOWN = 20
HAPPENED = {
    Kind.WAIT_TIMEOUT: "a request waited{wait} for a connection and got none.",
    Kind.EXHAUSTED: "all connections were in use, and this pool does not let a request wait.",
    Kind.QUEUE_FULL: "too many requests already waited for a connection, so a further one got an error.",
    Kind.STATISTICS: "this is the state of a pool, not an error.",
    Kind.HELD_LONG: "a connection was borrowed and not returned in time.",
    Kind.RETURNED_LATE: "a connection that was reported as leaked came back: it was held long, not leaked.",
    Kind.STALLED: "the threads of the process did not run for a while.",
    Kind.OPENING_BLOCKED: "c3p0's helper threads, which open and close connections, make no progress.",
    Kind.STALE: "a connection was ended, most often an idle one, and the client noticed it late.",
    Kind.DISCARDED: "an idle connection passed its test, and the pool discarded it all the same.",
    Kind.LOST: "a connection broke.",
    Kind.CLOSED: "code used a pool that is closed.",
    Kind.SETTING: "the library does not accept this pool size.",
    Kind.SERVER_FULL: "error 1040: max_connections is reached, and the server refuses a further connection.",
    Kind.USER_LIMIT: "error 1203: the account has reached max_user_connections, the limit of each account.",
    Kind.ACCOUNT_LIMIT: "error 1226: the account has reached a limit of its own.",
    Kind.HOST_BLOCKED: "error 1129: connections of this host broke max_connect_errors times before they were ready.",
    Kind.HOST_REFUSED: "error 1130: no account may connect from this host.",
    Kind.LOGIN_REFUSED: "error 1045: the server refused the account or its password. No pool size changes that.",
    Kind.DATABASE_REFUSED: "error 1044: the account may not use this database.",
    Kind.READ_ONLY: "the server is read-only: a replica, a former primary, or a primary that was made so.",
    Kind.SHARED_CONNECTION: "a statement began on a connection that was still in use for another.",
    Kind.METADATA_LOCK: "a statement waits for its table: a transaction that used the table is open, or an ALTER waits "
    "or runs.",
    Kind.LOCK_WAIT: "error 1205: a statement waited for a row lock longer than innodb_lock_wait_timeout.",
    Kind.DEADLOCK: "error 1213: two transactions waited for each other's locks, and the server ended one.",
    Kind.NO_PORT: "the client has no free port for a further connection to this server.",
    Kind.UNREACHABLE: "a connection could not be opened: the server did not answer or refused it.",
    Kind.PROXY_TIMEOUT: "a request waited{wait} for a connection to a server and got none.",
    Kind.DEADLINE: "the time that the request had was over.",
}
_BY_FAILURE: Mapping[tuple[Kind, str | None], str] = {
    (Kind.UNREACHABLE, "name"): "a connection could not be opened: the server's name has no address.",
    (Kind.UNREACHABLE, "refused"): "a connection was refused: most probably, nothing listens at that address and port.",
    (Kind.UNREACHABLE, "timeout"): "a connection could not be opened: the server did not answer.",
    (Kind.LOST, ""): "a connection broke: most probably, the other side closed it.",
    (Kind.LOST, "reset"): "a connection broke: the other side, or a device between, reset it.",
    (Kind.LOST, "timeout"): "a connection broke: no answer came within the client's read timeout.",
    (Kind.LOST, "idle"): "a connection that had been idle broke: no answer came within the client's read timeout.",
}
"""Of a driver. Source: pymysql/connections.py, _read_bytes: the error in brackets, none where the other side closed."""
RARELY_WAITING = 100
"""Requests that seldom wait at once in a process: web servers have a few tens to 200 threads."""
FULL_BY_LOCKS = (
    "The text has a wait for a row lock, too: most probably, the pool's transactions wait for locks, and keep its "
    "connections. A larger pool adds waiters."
)
_KIND_SAYS = {
    Kind.LOCK_WAIT: "By default (innodb_rollback_on_timeout=OFF), only the statement is rolled back, and the "
    "transaction keeps its locks: roll the transaction back before a retry.",
    Kind.DISCARDED: "No request fails: the pool takes or opens another connection. A longer lifetime, wait_timeout or "
    "firewall limit changes nothing.",
    Kind.LOST: "A write may have been committed: find out before you repeat it.",
    Kind.NO_PORT: "A closed connection keeps its port for 60 s. Linux has 28,232 ports, so one address can open at "
    "most 470 connections a second to one server.",
}
_BY_USE = {
    Use.NONE_OPEN: "No connection is open: the pool is not too small, it can't open connections.",
    Use.NOT_FULL: "The pool is not full: a larger pool does not help.",
    Use.HELD: "The pool is probably not too small: if transactions take milliseconds, connections are held across "
    "something slow, or leaked.",
    Use.UNCLEAR: "It can be either: the pool is too small for the rate, or connections are held for too long. The mean "
    "usage time without load decides: if it is about as long, the pool is too small; if it is far shorter, connections "
    "are held.",
    Use.RUNNING: "Most connections run a statement: it is slow, or waits for a row lock. A larger pool adds load.",
    Use.LOCKED: FULL_BY_LOCKS,
    Use.LEAKED: "The log has a leak report: code held a connection for long, or leaked it. If it leaks connections, "
    "a larger pool only delays the errors.",
    Use.BUSY: "Connections come back: the rate is too high for them, or the usage time has grown.",
}


class EventValues(TypedDict):
    """A kind of error of a library.

    text: the line that shows it best. pool: its name, if there are several. count: of such lines; minutes: by minute,
    of lines with a time. numbers: in that line, by names with units. per_second: requests that arrive. held_ms: usage
    time. full_above_per_second: the rate that the connections in use serve at the mean usage time. use: how the pool's
    connections are used. These are null where a number for them is unknown. happened, says: what happened, and what
    the numbers say. remedy: what to do first. causes: the most probable first. next: what to look at.
    """

    text: str
    library: str
    pool: str | None
    kind: Kind
    numbers: Numbers
    count: int
    minutes: Mapping[str, int]
    per_second: float | None
    held_ms: float | None
    full_above_per_second: float | None
    use: Use | None
    happened: str
    says: list[str]
    remedy: str
    causes: tuple[Cause, ...]
    next: tuple[str, ...]


class EventsValues(TypedDict):
    """The errors in a text."""

    events: list[EventValues]


def events_values(events: Sequence[Event]) -> EventsValues:
    """Return events as data for JSON."""
    return {"events": list(map(_values, events))}


def events_text(events: Sequence[Event]) -> str:
    """Return each event: what happened, what to do first, what the numbers say, the causes, what to look at next.

    Several errors with times begin with a table of them, and a state of a pool beside them has only its figures.
    """
    errors = [event for event in events if event.kind is not Kind.STATISTICS]
    parts = [_state(event) if errors and is_at_ease(event) else _event_text(event) for event in events]
    if len(errors) > 1 and any(event.minutes for event in errors):
        parts.insert(0, _overview(errors))
    return "\n\n".join(parts)


def _overview(errors: Sequence[Event]) -> str:
    rows = [(error.first_seen or UNKNOWN, f"{error.count:,}", _name(error)) for error in errors]
    table = Table(("first seen", "count", "error"), rows).below(count(len(errors), "kind") + " of errors")
    return f"{table}\n\n{paragraph(f'Start with: {_name(errors[0])}, {_why_first(errors)}')}"


def _name(event: Event) -> str:
    return f"{_owner(event)}: {event.kind.replace('_', ' ')}"


def _owner(event: Event) -> str:
    return f"{event.library}, {event.pool}" if event.pool else event.library


def _why_first(errors: Sequence[Event]) -> str:
    """Return why the first error comes first, and which errors began before it all the same."""
    first, *others = errors
    if first.load.use is Use.LOCKED:
        return "as the pool's transactions wait for its row locks."
    earlier = [_name(other) for other in others if not first.began_before(other)]
    before = f" Before it: {', '.join(earlier)}." if earlier else ""
    if first.kind in STARTS and any(other.fails_requests and first.began_before(other) for other in others):
        return f"as it may cause the errors after it.{before}"
    if not first.fails_requests:
        return "as it came most often."
    if not first.began_earlier:
        return f"as it makes requests fail.{before}"
    began = timedelta(seconds=int(first.began_s) % 86_400)
    return f"as it makes requests fail. Its first wait began at {str(began).zfill(8)}.{before}"


def _state(event: Event) -> str:
    """Return the figures of a pool with free connections, beside errors of another time."""
    at = f" at {event.text_seen}" if event.text_seen else ""
    return f"{paragraph(f'{_owner(event)}: the state of a pool{at}, not an error.')}\n\n{paragraph(event.text, '    ')}"


def _values(event: Event) -> EventValues:
    load, chosen = event.load, advice(event)
    return {
        "text": event.text,
        "library": event.library,
        "pool": event.pool or None,
        "kind": event.kind,
        "numbers": event.numbers,
        "count": event.count,
        "minutes": event.minutes,
        "per_second": load.per_second,
        "held_ms": load.held_ms,
        "full_above_per_second": load.full_above_per_second,
        "use": load.use,
        "happened": _happened(event),
        "says": list(_says(event)),
        "remedy": first_action(event),
        "causes": chosen.causes,
        "next": chosen.next,
    }


def _event_text(event: Event) -> str:
    chosen = advice(event)
    parts = [
        paragraph(f"{_owner(event)}: {_happened(event)}"),
        paragraph(f"Do first: {first_action(event)}"),
        paragraph(event.text, "    "),
    ]
    if event.count > 1:
        parts.append(_counted(event))
    if says := list(_says(event)):
        parts.append("What the numbers say:\n" + bullets(says))
    if chosen.causes:
        causes = (
            paragraph(f"{each.cause} Sign: {each.tell}", f"  {place}. ") for place, each in enumerate(chosen.causes, 1)
        )
        parts.append("Most probable causes:\n" + "\n".join(causes))
    if chosen.next:
        parts.append("Look at next:\n" + bullets(chosen.next))
    return "\n\n".join(parts)


def _counted(event: Event) -> str:
    times = count(event.count, "time")
    minutes = list(event.minutes)
    if len(minutes) < 2:
        return f"Found {times}" + (f", in {minutes[0]}." if minutes else ".")
    busiest = sorted(minutes, key=lambda minute: -event.minutes[minute])[:MOST_MINUTES_SHOWN]
    rows = [(minute, f"{event.minutes[minute]:,}") for minute in minutes if minute in busiest]
    title = f"Found {times}, in {len(minutes):,} minutes"
    return Table(("minute", "count"), rows).below(title if len(rows) == len(minutes) else f"{title}; the busiest")


def _happened(event: Event) -> str:
    wait_ms = event.numbers.get("wait_ms")
    words = _BY_FAILURE.get((event.kind, event.failure), HAPPENED[event.kind])
    return words.format(wait="" if wait_ms is None else f" {_time(wait_ms)}")


def _says(event: Event) -> Iterator[str]:
    numbers = event.numbers
    if event.kind in OF_POOL:
        yield from _says_of_pool(event)
    elif event.load.use is Use.LOCKED:
        yield FULL_BY_LOCKS
    if event.kind in _KIND_SAYS:
        yield _KIND_SAYS[event.kind]
    if "late_ms" in numbers:
        yield f"The housekeeper of the pool, due 30 s after its last run, came after {_time(numbers['late_ms'])}."
    if "idle_ms" in numbers:
        yield _says_of_idle(event)
    if "sent_ms" in numbers and event.kind is Kind.STALE:
        yield "If a statement ran for that long, a limit on it ended the connection: socketTimeout of the driver."
    if "limit" in numbers:
        yield f"The limit is {numbers['limit']:,}."


def _says_of_idle(event: Event) -> str:
    """Return what the time since the server's last packet says."""
    idle = _time(event.numbers["idle_ms"])
    if event.kind is Kind.DISCARDED:
        return f"The last query on the connection ended {idle} before. A ping does not count as a query."
    if event.is_read_timeout:
        waited = _time(event.numbers["idle_ms"] - event.idle_before_ms)
        before = "maxLifetime changes nothing."
        if event.failure == "idle":
            before = f"Before it, the connection was idle for {_time(event.idle_before_ms)}."
        return f"The statement ran or waited for {waited}, the driver's socketTimeout. {before}"
    if event.kind is Kind.STALE and event.is_near_wait_timeout:
        excess_ms = event.numbers["idle_ms"] - WAIT_TIMEOUT_MS
        side = "above" if excess_ms >= 0 else "below"
        return f"The connection was idle for {idle}: {_time(abs(excess_ms))} {side} the default of wait_timeout."
    if event.kind is Kind.STALE and event.is_near_firewall:
        return (
            f"The connection was idle for {idle}: firewalls and load balancers often drop connections after 300 or "
            "350 s, and the default of wait_timeout is 28,800 s."
        )
    idleness = f"The server's last packet came {idle} before."
    if event.kind is Kind.STALE:
        idleness = f"The connection was idle for {idle}. A limit just below that is a candidate."
    return f"{idleness} Compare wait_timeout, by default 28,800 s, and the limits of firewalls."


def _says_of_pool(event: Event) -> Iterator[str]:
    """Yield the conclusions from a pool's numbers by Little's law."""
    numbers, load = event.numbers, event.load
    yield from _says_of_waiting(event)
    if load.use in _BY_USE and not (load.use is Use.UNCLEAR and load.usage_ms):
        yield _BY_USE[load.use]
    if load.use not in (None, Use.NOT_FULL, Use.NONE_OPEN) and (idle := numbers.get("idle")):
        yield f"{count(int(idle), 'idle connection')} had just come back: while requests wait, the pool is full."
    if errors := numbers.get("opening_errors"):
        yield f"The pool failed to open a connection: {count(int(errors), 'error')}."
    if waits := numbers.get("waits"):
        yield f"Since the start, the mean of {count(int(waits), 'wait')} is {_time(numbers['waited_ms'] / waits)}."
    if load.use is Use.HELD:
        yield _says_of_held(event)
    if load.full_above_per_second and load.usage_ms:
        yield from _says_of_mean(event, load.full_above_per_second, load.usage_ms)


def _says_of_waiting(event: Event) -> Iterator[str]:
    """Yield what the numbers of connections and of waiting requests say."""
    numbers, load = event.numbers, event.load
    waiting, wait_ms, size = (numbers.get(name) for name in ("waiting", "wait_ms", "size"))
    in_use = numbers.get("in_use", size or 0)
    connections, requests = count(int(in_use), "connection"), count(int(waiting or 0), "request")
    wait = _time(wait_ms or 0)
    if load.per_second and load.held_ms:
        digits = _digits(event)
        yield (
            f"{requests} waited, the longest for {wait}: about {_about(load.per_second, digits)} arrive a second. If "
            f"the {connections} in use serve them all, each is held for about "
            f"{_time(_rounded(load.held_ms, digits))}; if not, for longer."
        )
        if event.growth:
            before, seconds = event.growth
            yield f"The estimate is rough: a line {seconds:,.0f} s earlier has {before:,} waiting."
    elif waiting == 0 and wait_ms and load.use in (Use.HELD, Use.FULL, Use.LEAKED):
        yield f"No other request waited, and none of {connections} became free in {wait}."
    elif load.use in (Use.FULL, Use.RUNNING) and wait_ms and "in_use" in numbers:
        running = f", and {numbers['running']:,} run a statement" if "running" in numbers else ""
        many = f" {_unless_many_waited(in_use, wait_ms)}" if load.use is Use.FULL else ""
        opening = " or being opened" if "overflow" in numbers else ""
        yield f"All connections, {in_use:,}, are in use{opening}{running}.{many}"
    elif load.use and "in_use" in numbers:
        of_size = f" of {size:,}" if size and in_use <= size else ""
        yield f"{in_use:,}{of_size} connections are in use" + (f", and {requests} wait." if waiting else ".")


def _says_of_mean(event: Event, full_above: float, usage_ms: float) -> Iterator[str]:
    """Yield the conclusions from the mean usage time."""
    load, rate, usage = event.load, _about(full_above), _time(usage_ms)
    in_use = full_above * usage_ms / 1000
    connections = count(round(in_use), "connection")
    if load.is_confirmed:
        yield (
            f"The metrics confirm that connections are held for long: at a mean usage time of {usage}, {connections} "
            f"can serve {rate}/s. If {usage} is the maximum, give the mean."
        )
        return
    note = " If your rate is lower, connections are held or leaked." if load.use is Use.FULL else ""
    if load.use is Use.UNCLEAR and load.held_ms:
        note = f" It does not fit {_time(_rounded(load.held_ms))}: unless most requests fail, {usage} is not the mean."
    yield f"At a mean usage time of {usage}, all {connections} are in use only at a rate above {rate}/s.{note}"
    if load.held_ms and load.use is Use.HELD:
        waiting = event.numbers["waiting"]
        yield (
            f"At that rate, {count(int(waiting), 'request')} would wait for {_time(waiting * usage_ms / in_use)}, not "
            f"for {_time(event.numbers['wait_ms'])}. A mean from the pool's metrics leaves out connections that were "
            "not returned."
        )


def _says_of_held(event: Event) -> str:
    """Return what does not help where connections are held for long."""
    load = event.load
    longest_ms = max(load.held_ms or 0, load.usage_ms or 0)
    is_known = load.held_ms or load.is_confirmed
    held = (
        f"about {_time(_rounded(longest_ms, _digits(event)))}"
        if is_known
        else f"more than {_time(event.numbers['wait_ms'])}"
    )
    if load.is_above_mean:
        return (
            f"Connections that come back are held for {_time(load.usage_ms or 0)}, and those in use for {held}: look "
            "for connections that do not come back. A larger pool helps only if threads wait for a second connection "
            "while they hold one."
        )
    return f"A larger pool does not help while each connection is held for {held}."


def _unless_many_waited(in_use: float, wait_ms: float) -> str:
    """Return how many requests must have waited, by Little's law, if no connection is held for LONG_USAGE_MS."""
    unknown = "The text lacks the number of waiting requests."
    many = in_use * wait_ms / LONG_USAGE_MS
    if many < 2:
        return unknown
    least = (
        f"{unknown} Even if each connection was held for 1 s, long for a transaction, "
        f"{count(int(in_use), 'connection')} x {_time(wait_ms)} / 1 s = {many:,.0f} requests waited."
    )
    if many < RARELY_WAITING:
        return f"{least} If fewer waited, connections are held for longer."
    return (
        f"{least} A process with threads rarely has so many: connections are most likely held or leaked, and the pool "
        "is probably not too small."
    )


def _digits(event: Event) -> int:
    return 1 if event.growth else 2


def _rounded(value: float, digits: int = 2) -> float:
    """Return a derived number with few digits."""
    return float(f"{value:.{digits}g}")


def _about(value: float, digits: int = 2) -> str:
    return number(_rounded(value, digits))


def _time(value_ms: float) -> str:
    """Return a time: 185 ms, 8.1 s, 30 s, 28,800 s."""
    return f"{number(value_ms)} ms" if value_ms < 1000 else f"{number(value_ms / 1000)} s"
