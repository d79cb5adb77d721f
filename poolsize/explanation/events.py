"""Lines of text -> events: known texts counted by minute, and the figures of their pools by Little's law."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from operator import attrgetter

from poolsize.bounds import shortened
from poolsize.explanation.texts import CLIENT, CODED, CONNECTOR_J, SERVER, Kind, KnownText, Numbers, matches
from poolsize.terminal import visible

OF_POOL = (Kind.WAIT_TIMEOUT, Kind.EXHAUSTED, Kind.QUEUE_FULL, Kind.STATISTICS)
"""Kinds that report how a pool's connections are used."""
LONG_USAGE_MS = 1000
"""A usage time from which on a connection counts as held or leaked: a transaction of a request takes milliseconds."""
FAR_ABOVE_MEAN = 2
"""The multiple of a known mean usage time from which on a connection counts as held or leaked."""
MOST_RETURNING, FAR_MORE = 2, 10
"""At most so many idle connections have just come back, if at least so many requests for each wait for them."""
LONG_IDLE_MS = 60_000
"""The time since a server's last packet from which on a lost connection counts as idle: limits are rarely shorter."""
WAIT_TIMEOUT_MS = 28_800_000
"""The default of wait_timeout."""
FIREWALL_MS = 285_000, 420_000
"""From a little less than 300 s to a minute more than 350 s, the usual limits of firewalls and load balancers."""
MOST_MINUTES = 10_000
"""The most minutes of an event that are counted apart: a week."""
LONGEST_SHOWN = 300
_HEAD = 64
"""Characters of a line that may hold its time."""
_DATE = (
    r"\d{4}[-/.]\d\d[-/.]\d\d|(?<!\.)\d\d?(?P<mark>[-/.])\d\d(?P=mark)\d{2,4}"
    r"|\d\d?\.?[-/ ][^\W\d]{3,9}\.?[-/ ]\d{4}|[A-Z][a-z]{2} \d\d?, \d{4}|[A-Z][a-z]{2} [ \d]\d"
    r"|(?<=[IWEF])[01]\d[0-3]\d|^\d\d[01]\d[0-3]\d"
)
"""Dates: ISO, numbers in another order, 29. Nov. 2026, Nov 29, 2026, Nov 29; glog's E1129, old mysqld's 261129."""
_TIME = re.compile(
    rf"(?<![\d:])(?:(?P<date>{_DATE})[T:, ]{{1,2}})?(?P<clock>(?:[0-2]|(?<=\d\d  )|(?<=, \d{{4}} ))"
    r"\d:[0-5]\d:[0-5]\d)(?:\s(?P<half>[AP])M\b)?"
    r'|"(?:time|ts|timestamp|timeMillis)": ?"?(?P<epoch_s>1\d{9})(?:\d{3}){0,3}\b'
)
_OWN_FRAME = re.compile(
    r"(?:\\t|\t|\s\s)at (?:[\w.@-]{0,80}/{1,2}){0,2}(?!(?:javax?|jdk|sun|jakarta|kotlinx?|scala|reactor|"
    r"net\.(?:bytebuddy|ttddyy)|com\.(?:sun|zaxxer|alibaba\.druid|mchange|mysql|p6spy|baomidou)|org\.(?:mariadb|apache|"
    r"springframework|hibernate|mybatis|jooq|eclipse|jboss|aspectj)|io\.(?:opentelemetry|smallrye|agroal|quarkus|"
    r"micronaut|micrometer|netty|vertx|undertow))\.)"
    r"([\w.$]{1,120}\([\w.$: -]{1,80}\))",
    re.ASCII,
)
"""A frame of a stack trace that belongs to no pool, driver, JDK or framework; it has no control characters."""
_TASK = re.compile(r"\$\d{0,3}([A-Za-z]{1,80}Task)@[0-9a-f]{1,16}\b")
"""A task in a report of c3p0: helper threads work on those between "Active Tasks:" and "Pending Tasks:"."""
STARTS = (
    Kind.HELD_LONG, Kind.SERVER_FULL, Kind.USER_LIMIT, Kind.ACCOUNT_LIMIT, Kind.HOST_BLOCKED, Kind.HOST_REFUSED,
    Kind.LOGIN_REFUSED, Kind.METADATA_LOCK, Kind.NO_PORT, Kind.UNREACHABLE,
)  # fmt: skip
"""Kinds of errors that may cause the others."""
_OF_ITS_HOUR = (Kind.HELD_LONG, Kind.METADATA_LOCK)
"""Those that cause other errors of the same hour alone."""
_KEEP_OUT = (
    Kind.SERVER_FULL, Kind.HOST_BLOCKED, Kind.HOST_REFUSED, Kind.LOGIN_REFUSED, Kind.NO_PORT, Kind.UNREACHABLE,
)  # fmt: skip
"""Kinds of errors by which a pool can't open connections."""
_WARNINGS = (
    Kind.STATISTICS, Kind.HELD_LONG, Kind.RETURNED_LATE, Kind.STALLED, Kind.OPENING_BLOCKED, Kind.DISCARDED,
)  # fmt: skip
"""Kinds of reports by which no request fails."""
HOUSEKEEPING_MS = 30_000
"""The time from a run of HikariCP's housekeeper to the next. Source: HikariPool.java, housekeepingPeriodMs."""
_CONTINUES = re.compile(r"\s|$|Caused by: |Suppressed: |The last packet |### |; ")
"""The beginning of a line that belongs to the error in a line above; the last two are MyBatis's."""
_LEAK = "Apparent connection leak"
"""The exception below a report of HikariCP, whose stack trace is that of the borrow."""
_EXCEPTION = re.compile(r"[\w.$]{1,200}(Exception|Error)\b")
"""The beginning of a stack trace; the first without a time belongs to the line with a time above it."""
_ECHO = "SqlExceptionHelper"
"""Hibernate's logger, which writes the text of an exception that it throws: the text is in the log again."""
_STATEMENT = re.compile(r"runningSqlCount |\s+(?!at |\.\.\. )\S")
"""The beginning of a line that belongs to the statements below an error of Druid."""
_LONGEST_STATEMENTS = 2000
"""The most characters of a line with the statements of Druid."""
_POOL_NAME = re.compile(r"([^\s\[\](){}:;,=\"']{1,60}) - (?:\w{1,20} {1,2}){0,3}$")
"""The name of a pool without spaces, or its last word, as HikariCP writes it before a text."""
_MOST_APART = 40
"""The number of events from which on a further pool is not kept apart."""
_MOST_TEXTS = 1000
"""The most texts of a minute whose lines are compared, and the most frames of leak reports that are counted."""
_FAILURE = re.compile(
    r"(?P<name>\((\[Errno )?(-\d|8|1100[12])\b|getaddr)|(?P<refused>refused|REFUSED|\((\[Errno )?(111|61|10061)\b)"
    r"|(?P<reset>reset)|(?P<timeout>timed|TIMEDOUT|i/o time|\((\[Errno )?(110|60|10060)\b)"
)
"""How the network failed, in the words of the clients or the numbers of Linux, macOS and Windows."""


class Use(StrEnum):
    """How a pool's connections are used, by the numbers of a text."""

    NONE_OPEN = "none_open"
    NOT_FULL = "not_full"
    HELD = "held"
    UNCLEAR = "unclear"
    BUSY = "busy"
    RUNNING = "running"
    FULL = "full"
    LOCKED = "locked"
    LEAKED = "leaked"


@dataclass(frozen=True)
class PoolLoad:
    """The figures that follow from a pool's numbers by Little's law.

    per_second: requests that arrive, if those that wait came within the wait. held_ms: usage time if the connections in
    use serve them all, else the usage time is longer. full_above_per_second: the rate that the connections in use
    serve at the mean usage time. usage_ms: mean usage time, as given. Each is None where a number for it is unknown.
    use: None if the text has no number.
    """

    per_second: float | None = None
    held_ms: float | None = None
    full_above_per_second: float | None = None
    use: Use | None = None
    usage_ms: float | None = None

    @property
    def is_confirmed(self) -> bool:
        """Whether the mean usage time, too, shows that connections are held for long."""
        long_ms = max(self.held_ms or 0, LONG_USAGE_MS)
        return self.use is Use.HELD and (self.usage_ms or 0) * FAR_ABOVE_MEAN >= long_ms

    @property
    def is_above_mean(self) -> bool:
        """Whether connections are held for far longer than the mean usage time, which lacks those not returned."""
        return self.use is Use.HELD and self.usage_ms is not None and not self.is_confirmed


@dataclass(frozen=True)
class Event:
    """A kind of error of a library, and how often it was found.

    text: of the line with the most waiting requests, and of these the first with the most numbers. If lines show
    different states of the pool, it is from the state with the most lines that have waiting requests. If most
    connections have a read timeout, it is that of such a connection. pool: its name, if several pools have errors.
    text_seen: time of the text, empty if it has none. minutes: minute -> count, of lines with a time, in the order of
    the lines. first_seen: time of the first line. place: in the order of first lines. frame: the application's code in
    most leak reports. task: of most of c3p0's helper threads. Both are empty if unknown. first_waiting: time of the
    first line with waiting requests, and their number. began_s: seconds of the day at which it began at the latest, the
    time of its first line less the wait or the pause.
    is_read_timeout: whether the socketTimeout of Connector/J ended most of these connections.
    """

    text: str
    library: str
    pool: str
    kind: Kind
    numbers: Numbers
    load: PoolLoad
    count: int
    minutes: dict[str, int]
    first_seen: str
    text_seen: str
    place: int
    frame: str
    task: str
    first_waiting: tuple[str, float]
    began_s: float
    is_read_timeout: bool

    @property
    def growth(self) -> tuple[float, float] | None:
        """Requests that waited before, and seconds since then, if more came than arrive at the rate of the text."""
        at, before = self.first_waiting
        seconds = _seconds_of_day(self.text_seen) - _seconds_of_day(at)
        most = (self.load.per_second or 0) * (seconds + 1)  # times are whole seconds
        is_known = at[:-8] == self.text_seen[:-8] and seconds > 0 and self.load.per_second
        return (before, seconds) if is_known and self.numbers["waiting"] - before > most else None

    @property
    def failure(self) -> str | None:
        """How the network failed: `name`, `refused`, `timeout`, `reset`; empty if the text of a client has no failure.

        `idle`: a timeout of a connection that was idle for long before. None if the failure is unknown.
        """
        if self.library != CLIENT or "at '" in self.text:
            timeout = "idle" if self.idle_before_ms >= LONG_IDLE_MS else "timeout"
            return timeout if self.is_read_timeout else None
        behind_host = self.text.partition(" on '")[2].partition("'")[2] or self.text
        if match := _FAILURE.search(behind_host):
            return match.lastgroup
        return None if "(" in behind_host else ""

    @property
    def idle_before_ms(self) -> float:
        """For how long a connection was idle before the last packet was sent; 0 if unknown."""
        idle_ms = self.numbers.get("idle_ms", 0)
        return idle_ms - self.numbers.get("sent_ms", idle_ms)

    @property
    def fails_requests(self) -> bool:
        """Whether requests fail by it: a pool, or the server's log, only warns of an ended connection."""
        is_of_pool = self.library not in (CLIENT, CONNECTOR_J, SERVER) and self.text != "driver: bad connection"
        is_warning = (self.kind is Kind.STALE and is_of_pool) or self.text.startswith("Aborted connection")
        return self.kind not in _WARNINGS and not is_warning

    @property
    def began_earlier(self) -> bool:
        """Whether it began before its first line, which has a wait or a pause."""
        return self.began_s < _seconds_of_day(self.first_seen)

    def began_before(self, other: "Event") -> bool:
        """Return whether it began before another event, or is in the same second; True without times."""
        if not (self.first_seen and other.first_seen) or self.first_seen == other.first_seen:
            return True
        if self.first_seen[:-8] != other.first_seen[:-8]:  # another day
            return self.place < other.place
        return self.began_s <= other.began_s

    @property
    def is_near_firewall(self) -> bool:
        """Whether a connection was idle for as long as many firewalls and load balancers allow."""
        least, most = FIREWALL_MS
        return least <= self.numbers.get("idle_ms", 0) <= most

    @property
    def is_near_wait_timeout(self) -> bool:
        """Whether a connection was idle for the default of wait_timeout, within 1 %."""
        return abs(self.numbers.get("idle_ms", 0) - WAIT_TIMEOUT_MS) <= WAIT_TIMEOUT_MS / 100


def pool_load(numbers: Numbers, usage_ms: float | None = None) -> PoolLoad:
    """Return the figures of a pool by Little's law, requests = rate x time. usage_ms: mean usage time, if known.

    Waiting requests = rate x wait time gives the rate, and connections in use = rate x usage time the usage time.
    """
    size, waiting, wait_ms = (numbers.get(name) for name in ("size", "waiting", "wait_ms"))
    in_use = numbers.get("in_use", size)
    if in_use is None:
        return PoolLoad()
    full_above = in_use / usage_ms * 1000 if usage_ms else None
    if numbers.get("open") == 0 or (in_use == 0 and not numbers.get("idle")):
        return PoolLoad(use=Use.NONE_OPEN)
    idle = numbers.get("idle", 0)
    came_back = idle if in_use and idle <= MOST_RETURNING and idle * FAR_MORE <= (waiting or 0) else 0
    has_room = in_use + came_back < (size or 0) or idle > came_back
    may_grow = not wait_ms and size is not None and in_use > size  # no limit, or an unknown overflow
    if has_room or may_grow:
        return PoolLoad(None, None, full_above, Use.NOT_FULL if has_room else None, usage_ms)
    if 2 * numbers.get("running", 0) > in_use:
        return PoolLoad(None, None, full_above, Use.RUNNING, usage_ms)
    if not waiting or not wait_ms:
        least_ms = wait_ms if waiting == 0 else None
        is_held = _use_of(least_ms or 0, usage_ms or 0) is Use.HELD
        return PoolLoad(None, None, full_above, Use.HELD if is_held else Use.FULL, usage_ms)
    per_second = waiting / wait_ms * 1000
    held_ms = in_use / per_second * 1000
    return PoolLoad(per_second, held_ms, full_above, _use_of(held_ms, usage_ms or 0), usage_ms)


def _use_of(held_ms: float, usage_ms: float) -> Use:
    """Return how connections are used that are held for held_ms, or longer. usage_ms: mean usage time, 0 if unknown."""
    longest_ms = max(held_ms, usage_ms)
    if longest_ms >= LONG_USAGE_MS or 0 < FAR_ABOVE_MEAN * usage_ms <= held_ms:
        return Use.HELD
    return Use.BUSY if 0 < usage_ms < FAR_ABOVE_MEAN * held_ms else Use.UNCLEAR


@dataclass(frozen=True)
class _Shown:
    """A text, its numbers and its time."""

    text: str
    numbers: Numbers
    time: str
    is_code: bool

    @property
    def rank(self) -> tuple[float, int, bool]:
        return self.numbers.get("waiting", -1), len(self.numbers), not self.is_code


_Key = tuple[str, Kind, str]
"""A library, a kind of error, and the name of a pool or an empty text."""
_BLOCKED: _Key = ("c3p0", Kind.OPENING_BLOCKED, "")
_LOST, _UNREACHABLE = (CONNECTOR_J, Kind.LOST, ""), (CONNECTOR_J, Kind.UNREACHABLE, "")
"""Connector/J's failures of a connection. The text of its socketTimeout stands some lines below a lost connection."""


class _Occurrences:
    """The lines of a kind of error of a library, as far as they are read."""

    def __init__(self) -> None:
        self.first_seen, self.began_s = "", 0.0
        self.frames: Counter[str] = Counter()
        self.tasks: Counter[str] = Counter()
        self.is_in_active_tasks = False
        self.count = self.read_timeouts = 0
        self.latest: _Shown | None = None
        self.timed_out: _Shown | None = None
        self.minutes: Counter[str] = Counter()
        self.shown: dict[Use | None, _Shown] = {}
        self.waited: Counter[Use | None] = Counter()
        self.first_waiting = "", 0.0

    def add(self, minute: str) -> None:
        self.count += 1
        if minute and (minute in self.minutes or len(self.minutes) < MOST_MINUTES):
            self.minutes[minute] += 1

    def add_frame_of(self, line: str) -> bool:
        """Count the application's code in a line of a leak report; return whether the line has some."""
        return _count(self.frames, _OWN_FRAME.search(line))

    def add_task_of(self, line: str) -> None:
        """Count the task that a helper thread works on, in a line of a report of c3p0."""
        begins = "Active Tasks:" in line
        self.is_in_active_tasks = (begins or self.is_in_active_tasks) and "Pending Tasks:" not in line
        if self.is_in_active_tasks:
            _count(self.tasks, _TASK.search(line))

    def add_read_timeout(self) -> None:
        """Count a read timeout of the error that was read last, and keep the first text of such an error."""
        self.read_timeouts += 1
        self.timed_out = self.timed_out or self.latest

    def read(self, shown: _Shown, is_new: bool) -> None:
        """Read a text; keep the text with the most waiting requests, and of several the first with most numbers.

        is_new: whether it begins an error. Texts of a pool that is full, not full or without connections are kept
        apart, and counted where requests wait.
        """
        numbers, at = shown.numbers, shown.time
        if not self.shown:
            pause_ms = max(numbers.get("late_ms", 0) - HOUSEKEEPING_MS, 0)
            self.first_seen = at
            self.began_s = _seconds_of_day(at) - (numbers.get("wait_ms", 0) + pause_ms) / 1000
        if "waiting" in numbers and not self.first_waiting[0]:
            self.first_waiting = at, numbers["waiting"]
        use = pool_load(numbers).use
        state = use if use in (Use.NOT_FULL, Use.NONE_OPEN) else None
        self.waited[state] += numbers.get("waiting", 0) > 0
        if is_new or self.latest is None or shown.rank > self.latest.rank:
            self.latest = shown
        if state not in self.shown or shown.rank > self.shown[state].rank:
            self.shown[state] = shown

    def event(self, key: _Key, is_named: bool, place: int, usage_ms: float | None) -> Event:
        """Return the lines as an event. place: in the order of first lines. usage_ms: mean usage time, if known."""
        library, kind, pool = key
        shown = self.shown[max(self.shown, key=lambda state: (self.waited[state], self.shown[state].rank))]
        timed_out = 2 * self.read_timeouts > self.count
        shown = (timed_out and self.timed_out) or shown
        return Event(
            text=shortened(visible(shown.text), LONGEST_SHOWN),
            library=library,
            pool=visible(pool) if is_named else "",
            kind=Kind.STALE if kind is Kind.LOST and not timed_out and _was_idle(shown.text, shown.numbers) else kind,
            numbers=shown.numbers,
            load=pool_load(shown.numbers, usage_ms) if kind in OF_POOL else PoolLoad(),
            count=self.count,
            minutes=dict(self.minutes),
            first_seen=self.first_seen,
            text_seen=shown.time,
            place=place,
            frame=max(self.frames, key=self.frames.__getitem__, default=""),
            task=max(self.tasks, key=self.tasks.__getitem__, default=""),
            first_waiting=self.first_waiting,
            began_s=self.began_s,
            is_read_timeout=timed_out,
        )


def _count(texts: Counter[str], match: re.Match[str] | None) -> bool:
    """Count the text of a match; return whether there is one."""
    if match and (match[1] in texts or len(texts) < _MOST_TEXTS):
        texts[match[1]] += 1
    return bool(match)


class _Repeats:
    """Recognises a failure that a log has twice: as a stack trace, as a logger's line, or as a server's code."""

    def __init__(self) -> None:
        self.minute = ""
        self.lines: dict[object, Counter[object]] = {}

    def is_new(self, text: object, minute: str, source: object) -> bool:
        """Return whether a line is a further failure: its source has written the text more often than any other."""
        if (self.minute and minute != self.minute) or len(self.lines) > _MOST_TEXTS:
            self.lines = {}
        self.minute = minute
        sources = self.lines.setdefault(text, Counter())
        sources[source] += 1
        return sources[source] > max((lines for other, lines in sources.items() if other != source), default=0)


def find_events(lines: Iterable[str], usage_ms: float | None = None) -> list[Event]:
    """Return the events in lines of text: first the event to start with, then the others.

    An error that a stack trace or Hibernate's logger repeats counts once. A line without a time has that of the line
    above. usage_ms: mean usage time, if known.
    """
    occurrences = _occurrences(lines)
    names = Counter(key[:2] for key in occurrences)
    separate = [
        each.event(key, names[key[:2]] > 1, place, usage_ms) for place, (key, each) in enumerate(occurrences.items())
    ]
    events = _with_locks(_with_leaks(separate))
    start = _start(events)
    return sorted(events, key=lambda event: (event is not start, event.kind is Kind.STATISTICS))


def _occurrences(lines: Iterable[str]) -> dict[_Key, _Occurrences]:
    """Return the lines of each library, kind and pool, in the order of first lines."""
    occurrences: dict[_Key, _Occurrences] = defaultdict(_Occurrences)
    of_error: set[_Key] = set()
    repeats = _Repeats()
    time, trace_follows, is_timed_out = "", False, False
    leak: _Occurrences | None = None
    for line in _with_statements(lines):
        own_time = _time_in(line[:_HEAD])
        time = own_time or time
        if leak and not any(part in line for part in ("\tat ", "  at ", _LEAK if own_time else "Exception")):
            leak = None
        if not _CONTINUES.match(line):
            if own_time or not (trace_follows and _EXCEPTION.match(line)):
                of_error.clear()
                is_timed_out = False
            trace_follows = bool(own_time)
        for known, text, numbers in matches(line):
            key = _key(known, line, text)
            key = key if key in occurrences or len(occurrences) < _MOST_APART else (*key[:2], "")
            at = _time_in(line) or time
            entry = occurrences[key]
            is_code = known in CODED
            entry.read(_Shown(text, numbers, at, is_code), key not in of_error)
            leak = entry if known.kind is Kind.HELD_LONG else leak
            if key not in of_error:
                of_error.add(key)
                source = is_code, _ECHO if _ECHO in line else bool(own_time)
                if repeats.is_new(key if known.library == SERVER else text, at[:-3], source):
                    entry.add(at[:-3])
        if leak and leak.add_frame_of(line):
            leak = None
        _add_task_of(line, occurrences)
        if "Read timed out" in line and not is_timed_out and _LOST in of_error and _UNREACHABLE not in of_error:
            is_timed_out = True
            occurrences[_LOST].add_read_timeout()
    return occurrences


def _add_task_of(line: str, occurrences: Mapping[_Key, _Occurrences]) -> None:
    """Count the task in a line, if a report of c3p0 was read."""
    if blocked := occurrences.get(_BLOCKED):
        blocked.add_task_of(line)


def _key(known: KnownText, line: str, text: str) -> _Key:
    """Return the key of a text in a line: HikariCP writes the name of the pool before it."""
    name = None
    if known.library == "HikariCP" and known.kind in OF_POOL:
        name = _POOL_NAME.search(line.partition(text)[0][-_HEAD:])
    return known.library, known.kind, name[1] if name else ""


def _with_statements(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines; the statements that an error of Druid lists below it, in the line of the error."""
    above = ""
    for line in chain(lines, [""]):
        has_statements = "runningSqlCount " in above or line.startswith("runningSqlCount ")
        may_go_on = has_statements and len(above) < _LONGEST_STATEMENTS
        if may_go_on and _STATEMENT.match(line) and not _time_in(line[:_HEAD]):
            above = f"{above.rstrip()} {line.strip()}"
        else:
            yield above
            above = line


def _start(events: list[Event]) -> Event | None:
    """Return the event to start with: what fails most requests, or a cause that began before it.

    A lock wait of a full pool counts as its cause at any time.
    """
    failing = max((event for event in events if event.fails_requests), key=attrgetter("count"), default=None)
    causes = [
        event
        for event in events
        if (event.kind is Kind.LOCK_WAIT and event.load.use is Use.LOCKED)
        or (failing and _may_cause(event, failing, events))
    ]
    errors = [event for event in events if event.kind is not Kind.STATISTICS]
    return next(iter(causes), failing or max(errors, key=attrgetter("count"), default=None))


def _may_cause(event: Event, failing: Event, events: list[Event]) -> bool:
    """Return whether an event may cause the event by which most requests fail: a pool with connections is logged in."""
    if event.kind not in STARTS or not event.began_before(failing):
        return False
    if event.kind in (Kind.LOGIN_REFUSED, Kind.HOST_REFUSED) and event is not failing:
        can_t_connect = failing.kind in OF_POOL and failing.load.use in (None, Use.NONE_OPEN)
        return can_t_connect and _are_together(event, failing, events)
    return event.kind not in _OF_ITS_HOUR or _are_together(event, failing, events)


def _with_leaks(events: list[Event]) -> list[Event]:
    """Return the events; a pool that may be full, with a leak report of the same hour or without times, is Use.LEAKED.

    The event has the code of the report. A library that reports a late return has held connections, and no leak.
    """
    late = {event.library for event in events if event.kind is Kind.RETURNED_LATE}
    leaks = {event.library: event for event in events if event.kind is Kind.HELD_LONG and event.library not in late}
    return [
        replace(event, load=replace(event.load, use=Use.LEAKED), frame=leak.frame)
        if _may_be_full(event) and (leak := leaks.get(event.library)) and _are_together(leak, event, events)
        else event
        for event in events
    ]


def _may_be_full(event: Event) -> bool:
    is_refused = event.kind in OF_POOL and event.kind is not Kind.STATISTICS
    return is_refused and event.load.use not in (Use.NOT_FULL, Use.NONE_OPEN, Use.RUNNING)


def _with_locks(events: list[Event]) -> list[Event]:
    """Return the events; a lock wait timeout, and a pool that is full because of such locks, have Use.LOCKED.

    Of a deadlock, the server has ended one transaction already: it blocks nobody.
    """
    locks = [event for event in events if event.kind is Kind.LOCK_WAIT]
    pairs = [(lock, pool) for lock in locks for pool in events if _waits_for(lock, pool, events)]
    locked = [event for pair in pairs for event in pair]
    return [replace(event, load=replace(event.load, use=Use.LOCKED)) if event in locked else event for event in events]


def _waits_for(lock: Event, pool: Event, events: list[Event]) -> bool:
    """Return whether a pool is most probably full because of lock waits: of the same hour, or of texts without times.

    By a text without numbers, a pool is full if the lock waits began before it, and nothing keeps it from opening
    connections. What leaked before the lock waits may hold the locks.
    """
    use = pool.load.use
    if use in (Use.NOT_FULL, Use.NONE_OPEN) or not _are_together(lock, pool, events):
        return False
    if use is Use.LEAKED:
        leaks = [event for event in events if (event.kind, event.library) == (Kind.HELD_LONG, pool.library)]
        return not any(leak.began_before(lock) for leak in leaks)
    kept_out = any(event.kind in _KEEP_OUT and event.began_before(pool) for event in events)
    return use is not None or (_may_be_full(pool) and lock.began_before(pool) and not kept_out)


def _are_together(first: Event, second: Event, events: list[Event]) -> bool:
    """Return whether two of the events are of the same hour, or have no times. If any has a date, both need a date."""
    least = min(max((len(minute) for event in events for minute in event.minutes), default=0), len("00:00") + 1)
    hours = [{minute[:-3] for minute in event.minutes if len(minute) >= least} for event in (first, second)]
    return not (first.minutes and second.minutes) or bool(hours[0] & hours[1])


def _was_idle(text: str, numbers: Numbers) -> bool:
    """Return whether a lost connection was idle: nothing was received for long, and nothing sent since."""
    idle_ms = numbers.get("idle_ms", 0)
    return "'wait_timeout'" in text or (idle_ms >= LONG_IDLE_MS and 2 * numbers.get("sent_ms", idle_ms) >= idle_ms)


def _seconds_of_day(time: str) -> float:
    """Return the seconds since midnight of a time; 0 without a time."""
    hours, minutes, seconds = map(int, time[-8:].split(":")) if time else (0, 0, 0)
    return 3600 * hours + 60 * minutes + seconds


def _time_in(text: str) -> str:
    """Return a time in a text to the second, empty if it has none: as written but for - and a space, or in UTC."""
    match = _TIME.search(text) if text.count(":") > 1 or '"t' in text else None  # few lines of a stack trace
    if match and match["epoch_s"]:
        return f"{datetime.fromtimestamp(int(match['epoch_s']), UTC):%Y-%m-%d %H:%M:%S}"
    if not match:
        return ""
    clock = match["clock"].zfill(8)
    if match["half"]:
        clock = f"{int(clock[:2]) % 12 + 12 * (match['half'] == 'P'):02d}{clock[2:]}"
    return f"{match['date'] or ''} {clock}".strip().replace("/", "-")
