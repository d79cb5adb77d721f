"""The answers for an observation as text for a terminal, and as JSON."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NotRequired, TypedDict

from poolsize.answer.traffic_findings import BurstsUnseen, HeldUnseen, ShortObservation, SpreadAssumed
from poolsize.observe.observation import Observation, shown
from poolsize.observe.pool_answer import PoolAnswer, pool_answers, unknown_pools
from poolsize.observe.replay import Replayed
from poolsize.observe.server_text import ServerValues, accounts_table, server_lines, server_values
from poolsize.observe.together import Together, observed_together
from poolsize.present.text.layout import UNKNOWN, Table, bullets, paragraph
from poolsize.present.text.sentences.findings import sentence
from poolsize.present.text.sentences.traffic import AT_READINGS
from poolsize.present.text.short import SAME, WHY, Labelled, leading, short_answer
from poolsize.present.text.traffic import TrafficAnswerValues
from poolsize.terminal import pasteable, visible
from poolsize.units import count, lasting, milliseconds, number, percent, sizes_text

MOST_ROWS = 20
"""Pools in the short text's table."""
USAGE_TIME = ("--usage-time", "TIME")
"""The option for a pool whose usage times are not known."""
OF_BUSIEST = "The busiest process of each pool"
"""The title of the table of pools."""
MINUTE = 60
MUCH = 0.02
"""The share by which the counted connections in use of any period exceed the busiest, above which both are named."""


def observed_text(observation: Observation, *, why: bool = False, stored: Path | None = None) -> str:
    """Return the verdict of each pool, the most used first, and the next commands.

    why: with the evidence. stored: the observation's file, or None.
    """
    answers = pool_answers(observation)
    unknown, server = [*unanswered(observation, answers)], list(server_lines(observation))
    if not answers:
        return "\n".join(map(paragraph, [*server, *unknown]))
    if len(answers) == 1 and not why:
        return _text_of_one(answers[0], unknown, stored)
    shown_answers = answers if why else answers[:MOST_ROWS]
    parts = [" ".join(filter(None, decision_and_verdict(answer))) for answer in shown_answers]
    more = [f"{len(answers) - len(shown_answers):,} more pools: --why."] if len(shown_answers) < len(answers) else []
    lines = [*map(paragraph, [*parts, *more, *unknown]), "", busiest_text(shown_answers)]
    if why:
        accounts = accounts_table(observation)
        lines += ["", accounts.as_text()] if accounts.rows else []
        lines += ["", pools_evidence(answers, server)]
    of_all = observed_together(observation, answers) if len(answers) > 1 else None
    labelled = [("Together", together_text(of_all))] if of_all else []
    labelled += [] if why else _cautions(answers)
    commands = [*_next(stored, answers), *([] if why else [SAME])]
    return short_answer(parts[0], labelled, commands, "\n".join([*lines[1:], ""]))


def pools_evidence(answers: Sequence[PoolAnswer], more: Sequence[str] = ()) -> str:
    """Return what --why says of pools, as a list. more: further sentences."""
    used = [each for each in answers if each.is_used]
    return bullets([*(f"{shown(each.name)}: {text}" for each in used for text in _evidence(each)), *more])


def _evidence(answer: PoolAnswer) -> Iterator[str]:
    """Yield what --why says of a pool."""
    rarely = " Requests wait for a moment while more connections are in use than the need."
    is_above = not answer.is_lower_bound and answer.need < answer.busiest.in_use_p99_9
    yield in_use_text(answer) + (rarely if is_above else "")
    yield from doubts(answer)


def _cautions(answers: Sequence[PoolAnswer]) -> list[Labelled]:
    """Return the first doubt of the pools, and how many more there are."""
    several = len(answers) > 1
    all_doubts = [f"{shown(each.name)}: {doubt}" if several else doubt for each in answers for doubt in doubts(each)]
    first, *others = all_doubts or [""]
    return [("Caution", first + (f" ({len(others):,} more: {WHY})" if others else ""))]


def together_text(of_all: Together) -> str:
    """Return the connections of all pools, and whether the server admits them."""
    limit, least = of_all.limit, "at least " if of_all.is_least else ""
    surge = f" in a deploy with {percent(limit.surge)} more instances of each, rounded up"
    needs = f"The needs{' of the pools in use' if of_all.idle else ''} add up to {least}{of_all.needed:,} connections"
    sentences = [needs + (f", {least}{of_all.needed_in_deploy:,}{surge}" if limit.surge else "")]
    if of_all.today is not None:
        deploy = f", {of_all.today_in_deploy:,} in a deploy" if limit.surge else ""
        sentences.append(f"Today's sizes add up to {of_all.today:,}{deploy}")
    deploy = f", {least}{of_all.at_twice_in_deploy:,} in a deploy" if limit.surge else ""
    at_twice = _at_twice(of_all)
    sentences.append(f"{at_twice[0].upper()}{at_twice[1:]}, the needs add up to {least}{of_all.at_twice:,}{deploy}")
    if of_all.is_selected:
        sentences.append("Pools without the labels of --selector are not counted")
    if limit.usable is not None:
        admitted = f"The server admits {limit.usable:,} (max_connections {limit.max_connections:,}, less "
        opened = [] if of_all.most_open is None else [f"All clients together had at most {of_all.most_open:,} open"]
        sentences += [f"{admitted}{limit.reserve:,} in reserve)", *opened, _within(of_all)]
    return f"{'. '.join(sentences)}."


def _within(of_all: Together) -> str:
    """Return whether the server admits the connections of all pools."""
    usable = of_all.limit.usable or 0
    if of_all.exceeds:
        when = "" if of_all.needed > usable else " in a deploy"
        enough = of_all.needed_in_deploy + of_all.limit.reserve
        return f"The needs exceed this limit{when}: set max_connections to {enough:,}"
    at_twice = _at_twice(of_all)
    if of_all.exceeds_at_twice:
        when = "" if of_all.at_twice > usable else " in a deploy"
        needs = f"The needs are within this limit, but {at_twice} they exceed it{when}"
    else:
        needs = f"The needs are within this limit, also {at_twice}"
    if of_all.today is None:
        return needs
    when = "" if (of_all.today or 0) > usable else " in a deploy"
    today = (
        f"Today's sizes exceed this limit{when}" if of_all.exceeds_today else "Today's sizes are within this limit, too"
    )
    return f"{needs}. {today}"


def _at_twice(of_all: Together) -> str:
    """Return the rate of the needs at twice the rate."""
    if of_all.growth == 0.5:
        return "at the observed rate"
    return "at twice the rate" if of_all.growth == 1 else f"at {2 * of_all.growth:g} times the observed rate"


def _text_of_one(answer: PoolAnswer, unknown: Sequence[str], stored: Path | None) -> str:
    (decision, its), others = decision_and_verdict(answer), [*map(paragraph, unknown)]
    if not its:
        return "\n".join([paragraph(decision), *others])
    labelled = [("Why", its), ("In use", in_use_text(answer)), *_cautions([answer])]
    return short_answer(decision, labelled, [*_next(stored, [answer]), SAME], "\n".join(others))


def decision_and_verdict(answer: PoolAnswer) -> tuple[str, str]:
    """Return a sentence with the pool size that is needed and today's, and the sentences why; "" without a need."""
    its, size = verdict(answer), answer.busiest.size
    if not answer.is_used:
        return f"{shown(answer.name)}: {its}.", ""
    each = f" in each of {answer.processes:,} processes" if answer.processes > 1 else ""
    now = "" if size is None else f" (now {size:,})"
    return f"{shown(answer.name)}: {size_text(answer)}{each}{now}.", f"{its[0].upper()}{its[1:]}."


def unanswered(observation: Observation, answers: Sequence[PoolAnswer]) -> Iterator[str]:
    """Yield a sentence for each pool without an answer, or that there is no pool. answers: of all pools that have."""
    unknown = unknown_pools(observation, answers)
    if not answers and not unknown:
        yield "No pool was observed: observe for longer, or another source."
    yield from (f"Nothing says how many connections of {shown(name)} are in use." for name in unknown)


def size_text(answer: PoolAnswer) -> str:
    """Return the need in connections, or that it is at least so many."""
    at_least = "at least " if answer.is_lower_bound else ""
    return f"{at_least}{count(answer.need, 'connection')}" if answer.is_used else "no answer"


def _next(stored: Path | None, answers: Sequence[PoolAnswer]) -> list[str]:
    """Return the next command, for the full answer of the first pool, from the stored file."""
    file, usage = stored or Path("FILE"), () if answers[0].busiest.usage_ms else USAGE_TIME
    of_pool = ("--pool", answers[0].name) if len(answers) > 1 else ()
    command = pasteable("poolsize", "recommend", "--observation", file, *of_pool, *usage)
    return [*([] if stored else ["the same command with --output FILE, then"]), visible(command)]


def verdict(answer: PoolAnswer) -> str:
    """Return what is known of the need of a pool, in a sentence without its full stop."""
    censored, load, most_used = answer.censored, answer.busiest, answer.most_used
    if not answer.is_used:
        return f"no answer. No connection was in use in {lasting(answer.seconds)}: {answer.way_out}"
    if censored.saturated is not None:
        cores = f" on {count(answer.cores, 'core')}" if answer.cores else ""
        return f"saturated: {number(censored.saturated)} threads run on the server{cores}; {size_text(answer)}"
    if censored:
        return f"censored: {', '.join(_signs(answer))}; {size_text(answer)}"
    highest, size = most_used.highest, most_used.size_then
    most = load.in_use_p99_9 if highest is None else highest
    of_size = count(most, "connection") if size is None else f"{most:,} of {count(size, 'connection')}"
    shows = " for 99.9 % of the time" if highest is None else AT_READINGS[answer.readings]
    in_use = f"at most {of_size} {'was' if most == 1 else 'were'} in use{shows}"
    limit = f" ({milliseconds(load.usage.mean_ms)})" if load.usage_ms else ""
    away = " with one process away" if answer.processes > 1 else ""
    twice = answer.need_at_twice
    at_twice = (
        "also at twice the rate" if twice == answer.need else f"and {count(twice, 'connection')} at twice the rate"
    )
    subject_and_verb = "connection keeps" if answer.need == 1 else "connections keep"
    keeps = f"{need_text(answer)} {subject_and_verb} the p99 wait below the usage time"
    return f"{in_use} in {lasting(answer.seconds)}{_rarely_full(answer)}. {keeps}{limit}{away}, {at_twice}"


def _rarely_full(answer: PoolAnswer) -> str:
    """Return in how many periods all connections of a process were in use, without cutting demand off; else ""."""
    periods = answer.censored.at_maximum
    of_all = f"of {count(answer.censored.periods, f'busy {_period(answer)}')}"
    return f" (a process had all its connections in use in {periods:,} {of_all})" if periods else ""


def _signs(answer: PoolAnswer) -> Iterator[str]:
    """Yield the signs that the pool cuts demand off."""
    censored = answer.censored
    periods = f"of {count(censored.periods, f'busy {_period(answer)}')}"
    if censored.at_maximum:
        yield f"in use at its maximum in {censored.at_maximum:,} {periods}"
    if censored.waiting:
        yield f"requests waited in {censored.waiting:,} {periods}"
    if censored.timeouts:
        yield count(censored.timeouts, "timeout")
    if censored.has_long_waits and answer.busiest.wait_ms is not None:
        yield f"a mean wait of {milliseconds(answer.busiest.wait_ms)}"


def _period(answer: PoolAnswer) -> str:
    return "minute" if (answer.busiest.seconds == MINUTE).all() else "period"


def need_text(answer: PoolAnswer, growth: float = 1.0, *, twice: bool = False) -> str:
    """Return the need as a number, or as a lower bound. growth, twice: as in need_at."""
    if not answer.is_used:
        return "no answer"
    return f"{'at least ' if answer.is_lower_bound else ''}{answer.need_at(growth, twice=twice):,}"


def in_use_text(answer: PoolAnswer) -> str:
    """Return how many connections are in use, in a sentence."""
    load = answer.busiest
    several = answer.processes > 1
    of_all = f"The busiest of {answer.processes:,} processes: " if several else ""
    bound = "at least " if load.is_lower_bound else ""
    often = "" if answer.censored else f", and at most {load.in_use_p99_9:,} for 99.9 % of the time"
    of_processes = f" All processes together: {number(answer.together)} on average." if several else ""
    busiest, counted = float(load.load.max()), float(load.in_use.max())
    at = moment(answer.busiest_at)
    if counted > (1 + MUCH) * busiest:
        at += f"; as counted, up to {number(counted)} in a {_period(answer)}"
    return (
        f"{of_all}{bound}{number(load.mean)} connections on average, {number(busiest)} in the busiest "
        f"{_period(answer)} ({at}){often}.{of_processes}"
    )


def doubts(answer: PoolAnswer) -> Iterator[str]:
    """Yield what limits the answer's use, the most important first; nothing where there is no answer."""
    load = answer.busiest
    if not answer.is_used:
        return
    if answer.censored:
        yield _lower_bound(answer)
    if answer.growing:
        yield sentence(answer.growing)
    if load.is_lower_bound:
        yield sentence(HeldUnseen())
    yield from _missing_time(answer)
    if not load.usage_ms:
        bound = "" if answer.is_lower_bound else f" The need is {sizes_text(answer.need_range())}."
        options = "--pool and --usage-time" if answer.pools > 1 else "--usage-time"
        yield (
            f"Usage times are not known, and the connections in use do not show how they vary.{bound} Give "
            f"{options} to `poolsize recommend --observation`."
        )
    if load.bursts.times > 1:
        yield (
            f"Requests come in bursts: {load.bursts.times:.2g} times the mean rate for "
            f"{100 * load.bursts.share:.0f} % of the time. The need counts them."
        )
    elif load.is_blind:
        yield sentence(BurstsUnseen())
    if load.usage_ms and load.varies_as_assumed:
        yield leading(sentence(SpreadAssumed(several=False, variation=load.usage.variation)))


def _missing_time(answer: PoolAnswer) -> Iterator[str]:
    """Yield which requests do not count, and why the busiest time may be missing."""
    if answer.without_answer:
        its = count(answer.without_answer, "request")
        yield f"{its} gave up while connections were free: the database did not answer. They do not count."
    if answer.silent_since is not None:
        yield silence(answer.silent_since)
    elif answer.is_short:
        yield sentence(ShortObservation(answer.seconds))


def silence(since: float) -> str:
    """Return when the last reading of a pool was, and what to do."""
    return (
        f"The last reading is of {moment(since)}. Check whether the service runs, and whether its pool has a new name."
    )


def moment(at: float) -> str:
    """Return a time in seconds since the epoch for people."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _lower_bound(answer: PoolAnswer) -> str:
    """Return why the need is a lower bound, and what to do."""
    size = answer.busiest.size
    if answer.censored.saturated is not None:
        return "The need is a lower bound: queries wait for each other in the server. Make the queries cheaper first."
    grows = size is not None and answer.need > size
    way_out = f"Set a pool size of {answer.need:,}" if grows else "Raise the pool size step by step"
    return f"Demand was cut off: the need is a lower bound. {way_out}, and observe again."


def pools_table(answers: Sequence[PoolAnswer], growth: float = 1.0) -> Table:
    """Return a row for each pool, with the figures of its busiest process. growth: of the need; also at twice that."""
    rows = []
    for answer in answers:
        load, size = answer.busiest, answer.busiest.size
        usage_ms, wait_ms = load.usage_ms, load.wait_ms
        rows.append(
            (
                shown(answer.name),
                f"{answer.processes:,}",
                number(load.mean),
                UNKNOWN if answer.censored else f"{load.in_use_p99_9:,}",
                UNKNOWN if size is None else f"{size:,}",
                UNKNOWN if usage_ms is None else milliseconds(usage_ms),
                UNKNOWN if wait_ms is None else milliseconds(wait_ms),
                need_text(answer, growth),
                need_text(answer, growth, twice=True),
            )
        )
    need = "need" if growth == 1 else f"need at {growth:g}x"
    at_twice = f"need at {2 * growth:g}x"
    names = ("pool", "processes", "in use on average", "p99.9", "size", "usage time", "wait time", need, at_twice)
    return Table(names, rows).without_unknown()


def busiest_text(answers: Sequence[PoolAnswer], growth: float = 1.0) -> str:
    """Return the table of pools as text. growth: as in pools_table."""
    table = pools_table(answers, growth)
    notes = []
    if any(UNKNOWN in row for row in table.rows):
        notes.append(f"{UNKNOWN}: the metrics do not show this, or demand was cut off")
    sure = [answer for answer in answers if answer.is_used and not answer.censored]
    if any(answer.need_at(growth) < answer.busiest.in_use_p99_9 for answer in sure):
        notes.append("p99.9 above the need: a few requests wait for a moment")
    return table.below(OF_BUSIEST + (f" ({'; '.join(notes)})" if notes else ""))


class LabelsValues(TypedDict):
    """What identifies an observed pool, beside its name."""

    instance: str
    library: str


class PoolValues(TypedDict):
    """The answer for an observed pool. Figures are of the busiest process, where they do not say otherwise.

    rate: requests per second of all processes in the busiest period. in_use_mean, in_use_p99_9: connections in use;
    in_use_max: in any sample of any process; in_use_busiest: in the busiest period, at busiest_at; in_use_together: on
    average, of all processes. in_use_is_lower_bound: whether more may be in use. burst: rate of busy times over the
    mean rate. size: the pool size now. usage_variation: variance of the usage time over its squared mean. usage_grows:
    the mean usage time with few and with many connections in use; null where it does not grow. censored: whether the
    pool cut demand off, so that need is a lower bound, and in_use_p99_9 is null. saturated: whether the server is.
    need: connections of each process; a lower bound also where in_use is. null: not known.
    """

    name: str
    labels: LabelsValues
    processes: int
    rate: float | None
    in_use_mean: float
    in_use_is_lower_bound: bool
    in_use_together: float
    in_use_busiest: float
    busiest_at: str
    in_use_p99_9: int | None
    in_use_max: int | None
    burst: float
    size: int | None
    wait_ms: float | None
    usage_ms: float | None
    usage_variation: float | None
    usage_grows: tuple[float, float] | None
    timeouts: int | None
    censored: bool
    saturated: bool
    need: int | None
    verdict: str
    findings: list[str]


class TogetherValues(TypedDict):
    """Connections of all pools, usually and in a rolling deploy: with their needs, also at twice the rate, and today.

    needed_is_lower_bound: whether a need is a lower bound. growth: of the needs, a factor on the observed rate.
    is_selected: whether a selector left other pools out. most_open: connections of the server at any reading, of all
    clients; null where not known. usable: connections that the server leaves for the pools;
    null where its limit is not known. today: with today's sizes; null where a size is not known.
    """

    needed: int
    needed_in_deploy: int
    needed_at_twice: int
    needed_at_twice_in_deploy: int
    needed_is_lower_bound: bool
    growth: float
    is_selected: bool
    most_open: int | None
    today: int | None
    today_in_deploy: int | None
    usable: int | None


class PoolsValues(TypedDict):
    """The answers for several observed pools. together: null where a server counted them."""

    pools: list[PoolValues]
    together: TogetherValues | None


class ObservedValues(PoolsValues):
    """The answers for observed pools, the most used first, and the figures of each server.

    drift: with --check, sentences on conditions that no longer hold, or else on pools of which nothing shows whether
    they fit.
    """

    server: list[ServerValues]
    drift: NotRequired[tuple[str, ...]]


class ObservationValues(TypedDict):
    """What `recommend --observation` adds to the answer for a traffic; ObservedTrafficValues describes the keys."""

    range: tuple[int, int] | None
    growth: float
    censored: bool
    replay: Sequence[Replayed]
    observation: PoolValues


class ObservedTrafficValues(TrafficAnswerValues, ObservationValues):
    """The pool size that an observed traffic needs, beside what the database can use and the limits allow.

    The keys of an answer for a traffic, and: range: lowest and highest need; null where a run makes usage times grow,
    and for a lower bound. growth: the factor of the rate. censored: whether the need is a lower bound. replay: the
    waits at other pool sizes over the whole observed time, with the observed usage times, which a run does not
    lengthen. observation: the answer for the pool.
    """


def observed_values(observation: Observation) -> ObservedValues:
    """Return the answers, the most used pool first, and the figures of each server as data for JSON."""
    answers = pool_answers(observation)
    of_pools = pools_values(answers, observed_together(observation, answers))
    return {"pools": of_pools["pools"], "together": of_pools["together"], "server": server_values(observation)}


def pools_values(answers: Sequence[PoolAnswer], of_all: Together | None) -> PoolsValues:
    """Return the answers of several pools as data for JSON. of_all: their connections, where they are known."""
    return {"pools": list(map(pool_values, answers)), "together": together_values(of_all) if of_all else None}


def together_values(of_all: Together) -> TogetherValues:
    """Return the connections of all pools as data for JSON."""
    return {
        "needed": of_all.needed,
        "needed_in_deploy": of_all.needed_in_deploy,
        "needed_at_twice": of_all.at_twice,
        "needed_at_twice_in_deploy": of_all.at_twice_in_deploy,
        "needed_is_lower_bound": of_all.is_least,
        "growth": of_all.growth,
        "is_selected": of_all.is_selected,
        "most_open": of_all.most_open,
        "today": of_all.today,
        "today_in_deploy": of_all.today_in_deploy,
        "usable": of_all.limit.usable,
    }


def pools_in_short(
    answers: Sequence[PoolAnswer],
    of_all: Together | None,
    growth: float,
    typed: Sequence[object],
    of_pool: Sequence[str] = (),
) -> str:
    """Return a table of several pools, their connections together, and the command that answers for the first of them.

    of_all: the connections at this growth; None where they are not known. typed: the other options of the command.
    of_pool: the typed options that do not count for the table.
    """
    usage = () if answers[0].busiest.usage_ms or USAGE_TIME[0] in typed else USAGE_TIME
    command = pasteable("poolsize", "recommend", *typed, "--pool", answers[0].name, *usage)
    sums = "" if of_all is None else paragraph(together_text(of_all))
    counts = f" (the table does not count {', '.join(of_pool)})" if of_pool else ""
    parts = [busiest_text(answers, growth), sums, f"Choose a pool{counts}: {visible(command)}"]
    return "\n\n".join(filter(None, parts))


def replay_table(replays: Sequence[Replayed], answer: PoolAnswer, limit_ms: float, *, by_run: bool) -> str:
    """Return the waits at other pool sizes over the whole observed time.

    limit_ms: of the p99 wait time. by_run: whether the answer has usage times that grow, by a run; these do not.
    """
    periods = sum(len(load.at) for load in answer.loads)
    columns = ["pool size", "waiting", "wait p99", "wait p99.9", f"{_period(answer)}s above {milliseconds(limit_ms)}"]
    rows = []
    for each in replays:
        waits = (milliseconds(each.wait_ms.p99), milliseconds(each.wait_ms.p99_9))
        away = [milliseconds(each.one_away.wait_ms.p99)] if each.one_away else []
        share = "<0.01 %" if 0 < each.share_waiting < 1e-4 else percent(each.share_waiting)
        rows.append([f"{each.pool_size:,}", share, *waits, f"{each.periods_above_limit:,}", *away])
    of_all = f" ({count(periods, _period(answer))} of {count(answer.processes, 'process', 'processes')})"
    columns += ["one away p99"] if len(rows[0]) > len(columns) else []
    of_usage = ", with the observed usage times: they do not grow as by the run" if by_run else ""
    return Table(columns, rows).below(f"Over the {lasting(answer.seconds)} that were observed{of_all}{of_usage}")


def observation_values(
    answer: PoolAnswer, growth: float, need_range: tuple[int, int] | None, replays: Sequence[Replayed]
) -> ObservationValues:
    """Return what `recommend --json` adds for an observation: the need's range, the growth, the replay and the pool."""
    values = pool_values(answer)
    return {
        "range": need_range,
        "growth": growth,
        "censored": values["censored"],
        "replay": replays,
        "observation": values,
    }


def pool_values(answer: PoolAnswer) -> PoolValues:
    """Return the answer of a pool as data."""
    load, censored = answer.busiest, answer.censored
    return {
        "name": answer.name,
        "labels": {"instance": load.pool.instance, "library": load.pool.library},
        "processes": answer.processes,
        "rate": answer.rate,
        "in_use_mean": load.mean,
        "in_use_is_lower_bound": load.is_lower_bound,
        "in_use_together": answer.together,
        "in_use_busiest": float(load.load.max()),
        "busiest_at": datetime.fromtimestamp(answer.busiest_at, UTC).isoformat(),
        "in_use_p99_9": None if censored else load.in_use_p99_9,
        "in_use_max": answer.most_used.highest,
        "burst": load.bursts.times,
        "size": load.size,
        "wait_ms": load.wait_ms,
        "usage_ms": load.usage_ms,
        "usage_variation": load.variation,
        "usage_grows": (answer.growing.low_ms, answer.growing.high_ms) if answer.growing else None,
        "timeouts": censored.timeouts + answer.without_answer if answer.counts_timeouts else None,
        "censored": bool(censored),
        "saturated": censored.saturated is not None,
        "need": answer.need if answer.is_used else None,
        "verdict": verdict(answer),
        "findings": list(doubts(answer)),
    }
