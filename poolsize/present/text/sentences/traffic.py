"""The findings of the answer for a traffic as sentences."""

from math import isinf

from poolsize.answer import fleet_from_traffic
from poolsize.answer import traffic_findings as of
from poolsize.present.text.sentences.findings import register_templates
from poolsize.present.text.sentences.fleet import in_deploy
from poolsize.units import any_of, count, lasting, milliseconds, number, percent


def _keeps_wait(finding: of.KeepsWait) -> str:
    rare = "fewer than 1 % of the requests wait (p99 wait 0 ms)"
    wait = "the p99 wait is {wait_p99_ms:ms}" if finding.wait_p99_ms else rare
    away = "one of {one_away_of:,} instances away" if finding.one_away_of else ("these" if finding.need > 1 else "it")
    each = " in each process" if finding.processes > 1 else ""
    limit = "the usage time, {limit_ms:ms}" if finding.is_usage_time else "{limit_ms:ms}"
    of_range, option = (" (95 % range {range:range})", "") if finding.range else ("", " (--max-wait-p99)")
    needs = f"The traffic needs {{need:#connection}}{of_range}{each}: with {away}, {wait}."
    needs += f" The p99 limit is {limit}{option}."
    if finding.fewer_p99_ms is None:
        return needs
    grows = "the queue grows without end" if isinf(finding.fewer_p99_ms) else "the p99 wait is {fewer_p99_ms:ms}"
    return f"{needs} With {count(finding.need - 1, 'connection')}, {grows}."


def _as_assumed(variation: float) -> str:
    return "be exponentially distributed" if variation == 1 else "vary a little more than exponential times"


def _instead_of(usage_ms: float, loaded_usage_ms: float) -> str:
    """Return the usage time when nothing queues, as part of a sentence; "" where both are printed alike."""
    usage, loaded = milliseconds(usage_ms), milliseconds(loaded_usage_ms)
    return "" if usage == loaded else f", in place of {usage}"


def _current_pool(finding: of.CurrentPool) -> str:
    away = " with one of {one_away_of:,} instances away" if finding.one_away_of else ""
    if finding.current == finding.pool_size:
        return "Your pool size of {current:,} is the recommended size."
    if finding.limit is not None and finding.current > finding.limit:
        return "Your pool size of {current:,} does not fit: the server's limit allows {limit:,} in each process."
    if finding.current > finding.pool_size and not isinf(finding.current_p99_ms):
        return (
            "Your pool size of {current:,} is larger: in an overload, {current_connections:#connection} in place of "
            "{connections:,} reach the database."
        )
    if isinf(finding.current_p99_ms):
        return f"With your pool size of {{current:,}}, the queue grows without end{away}."
    is_shown = finding.current_timed_out >= 1e-4
    gave_up = ", and {current_timed_out:%} of the requests time out" if is_shown else ""
    return f"With your pool size of {{current:,}}, the p99 wait time is {{current_p99_ms:ms}}{gave_up}{away}."


def _limit_bound(finding: of.LimitBound) -> str:
    away = " with one instance away" if finding.one_away_of else ""
    wait = ""
    if finding.wait_p99_ms is not None:
        grows = isinf(finding.wait_p99_ms)
        wait = f" {'The queue grows without end' if grows else 'The p99 wait time is {wait_p99_ms:ms}'}{away}."
    each = " in each of {processes:,} processes of a deploy" if finding.processes > 1 else ""
    allowed = f"The server's limit allows {{limit:#connection}}{each}, and {{need:,}} are needed"
    return f"{allowed}.{wait} {any_of(['Raise {variables:raised}', *finding.ways])}."


def _one_of_pools(finding: of.OneOfPools) -> str:
    way_out = "For a table of all pools, leave out --pool."
    if finding.others is None:
        assumes = "This answer assumes that no other pool uses the database."
        return f"The observation has {{pools:,}} pools. {assumes} {way_out}"
    is_one = finding.pools == 2
    need = "The other pool needs" if is_one else f"The other {finding.pools - 1:,} pools need"
    need += f" {'at least ' if finding.is_least else ''}{{others:#connection}}{' in a deploy' if finding.surge else ''}"
    if finding.too_few is not None:
        too_few = "The server's max_connections, {too_few:,}, does not admit the needs of all pools"
        others = f"{need}. " if finding.others else ""
        return f"{too_few}: set it to {{max_connections:,}}. This answer has that limit. {others}{way_out}"
    counts = "" if finding.max_connections is None else ": the server's limit leaves these free"
    use, periods = ("it uses", "its busiest period") if is_one else ("they use", "their busiest periods")
    in_use = f"At this rate, {use} {number(finding.in_use)} of these on average in {periods}"
    return f"{need}{counts}. {in_use}, which the database must also serve. {way_out}"


def _little_headroom(finding: of.LittleHeadroom) -> str:
    pools = f"The pools{_of(finding)} keep" if finding.processes > 1 else f"The pool{_of(finding)} keeps"
    each = " in each process" if finding.processes > 1 else ""
    raised = ", and raise {variables:raised}" if finding.variables else ""
    larger = f"use {{enough:#connection}}{each}{raised}" if finding.enough else "add threads or processes"
    whose = "its" if finding.service else "your"
    return (
        f"{pools} up with at most {{most_rate:/s}}, {100 * finding.more:.2g} % more than {whose} rate; beyond it, the "
        f"queue grows without end. For a rate {{grown:.0f %}} higher, {larger}."
    )


def _in_use(finding: of.InUse) -> str:
    often = "all {connections:,} for {share_full:%} of the time"
    if finding.in_use_p99_9 < finding.connections:
        often = "more than {in_use_p99_9:,} for at most 0.1 % of the time"
    if finding.connections <= finding.supply:
        after = "The pools have no more."
    elif finding.share_beyond < 1 - of.OFTEN:
        after = (
            "The pools may have {connections:,} together: more than {supply:,} are hardly ever in use. In an overload "
            "all of them are, and requests then queue in the database."
        )
    else:
        uncounted = "" if finding.waits_grow else ": the computed waits do not include this"
        after = (
            "More than {supply:,} are in use for {share_beyond:%} of the time. Usage times are longer then"
            f"{uncounted}. In an overload, all {{connections:,}} connections reach the database."
        )
    at_once = f"In use at once, by all processes: {{in_use:number}} on average, and {often}"
    return f"{at_once}. The database can use {{supply:,}}. {after}"


def _fleet_needs(finding: fleet_from_traffic.FleetNeeds) -> str:
    parts = []
    if finding.limits_ms:
        away = ", with an instance away" if finding.several else ""
        away += " where a service has several" if finding.several not in {0, len(finding.limits_ms)} else ""
        parts.append(
            "Each service needs the smallest pool whose p99 wait time stays within its limit "
            f"({{limits_ms:limits}}){away}."
        )
    if finding.missed:
        parts.append(
            "The database is too full for larger pools to help, at the latest while an instance is away: "
            "{missed:names}. Each of these pools is the smallest whose mean total time is nearly the shortest."
        )
    if finding.usable is not None and finding.needed <= finding.usable:
        of_usable = "{needed:,} of the {usable:,} connections that the fleet may use"
        parts.append(f"{in_deploy(finding.instances)}, the pools open {of_usable}.")
    return " ".join(parts)


def _for_thread(finding: of.ThreadsBound) -> str:
    if not finding.thread_wait_p99_ms:
        return ""
    away = " with one instance away" if finding.one_away else ""
    return (
        " Requests wait for a thread instead, if each process has a queue of its own: p99 {thread_wait_p99_ms:ms}"
        f"{away}."
    )


def _of(finding: of.ThreadsBound | of.TooFewThreads | of.FloorBound | of.LittleHeadroom | of.WideSpread) -> str:
    """Return the part of a template that names the service in a fleet."""
    return " of {service}" if finding.service else ""


def _cut_off(finding: of.CutOff) -> str:
    if finding.is_saturated:
        return (
            "The server is saturated: its queries wait for each other, and the connections in use say nothing of the "
            "need. Treat {need:#connection} as a lower bound, and make the queries cheaper first."
        )
    periods = "{periods:#busy period}"
    signs = [
        *(["all connections were in use in {at_maximum:,} of " + periods] if finding.at_maximum else []),
        *(["requests waited in {waiting:,} of " + periods] if finding.waiting else []),
        *(["{timeouts:#request} gave up"] if finding.timeouts else []),
    ]
    return (
        f"The observed pools cut demand off: {', '.join(signs) or 'requests waited long'}. {{need:#connection}} in "
        "each process is a lower bound. Raise the pool size step by step, and observe again."
    )


AT_READINGS: dict[of.ReadingTimes, str] = {
    "each moment": "",
    "single": " at the only reading",
    "several": " at any reading",
}


def _observed(finding: of.Observed) -> str:
    most = ""
    if finding.in_use_max is not None:
        number = "{in_use_max:#connection}" if finding.size is None else "{in_use_max:,} of {size:#connection}"
        most = f", with at most {number} of a process in use{AT_READINGS[finding.readings]}"
    grown = " times {growth:number}" if finding.growth != 1 else ""
    need = "" if finding.range is None else " The 95 % range of the need is {range:range}."
    return f"The traffic is that of the busiest period in {lasting(finding.seconds)} of observation{grown}{most}.{need}"


def _supply_unknown(finding: of.SupplyUnknown) -> str:
    cores = of_code = ""
    often = "more than {in_use_p99_9:,} for at most 0.1 % of the time"
    if finding.in_use_p99_9 >= finding.connections:
        often = "at times all {connections:,}"
    if finding.cores > 1:
        busy = "in the busiest second" if finding.has_bursts else "if the database works on all {in_use:number} in use"
        cores = f" By the formula, it needs {{cores:,}} cores or more {busy}."
        of_code = " Connections that your own code holds need none."
    return (
        "What the database can use is not known: add --cores of its host, or a measured --run."
        f"{cores}{of_code} In use at once, by all processes: {{in_use:number}} connections on average, and {often}."
    )


register_templates(
    {
        of.CutOff: _cut_off,
        of.Observed: _observed,
        of.UsageGrows: "The usage time rises from {low_ms:ms} to {high_ms:ms} with the connections in use: requests "
        "wait in the database. A larger pool does not help there.",
        of.BurstsUnseen: "The observation can't show bursts that are shorter than the time between two readings.",
        of.ShortObservation: lambda finding: (
            f"{lasting(finding.seconds)} may miss the busiest time: observe for a day or a week, or when most requests "
            "come."
        ),
        of.Divided: lambda finding: (
            f"The traffic of {count(finding.observed, 'observed process', 'observed processes')} is divided among "
            f"{finding.processes:,}. If each process has as much traffic as an observed process, use --growth "
            f"{finding.growth:.4g}x."
        ),
        of.OneOfPools: _one_of_pools,
        of.Selected: "The observation has only pools with the labels of --selector. If other pools use the server, add "
        "their connections to --reserve.",
        of.HeldUnseen: "The connections in use are a lower bound: the server does not show those that the application "
        "holds outside transactions and statements. The pool's own metrics show them.",
        of.HoldsWhile: "The answer holds while the rate stays within {rate:/s} and the mean usage time within "
        "{usage_ms:ms}.",
        of.KeepsWait: _keeps_wait,
        of.CurrentPool: _current_pool,
        of.LimitBound: _limit_bound,
        of.LittleHeadroom: _little_headroom,
        of.WideSpread: lambda finding: (
            f"Usage times{_of(finding)} vary widely: their p99 is {number(finding.times)} times the mean. The p99 wait "
            "may be up to 3 times the computed wait: use a pool that is larger by 1 at least. Often these are two "
            "kinds of requests: give each kind its own rate and usage time in a file of --services."
        ),
        of.InUse: _in_use,
        fleet_from_traffic.FleetNeeds: _fleet_needs,
        fleet_from_traffic.FleetBelowNeed: lambda finding: (
            "The server's limit allows fewer connections than the services need. "
            f"{in_deploy(finding.instances)}, they need "
            "{needed:,} connections, and the fleet may use {usable:,}. Pool sizes below the need: {pool_sizes:named}; "
            "needed: {needs:named}."
            + (
                " With these pools the queue grows without end, at the latest while an instance is away: "
                "{endless:names}."
                if finding.endless
                else ""
            )
        ),
        of.TooFewThreads: lambda finding: (
            f"A process{_of(finding)} has {{threads:#thread}}, and its requests use {{in_use:number}} connections on "
            f"average{' with one of {one_away_of:,} instances away' if finding.one_away_of else ''}. Requests wait for "
            "a thread without end: add threads or processes."
        ),
        of.ThreadsBound: lambda finding: (
            f"A process{_of(finding)} has " + "{threads:#thread}, which can use {connections:#connection}: no "
            "thread waits for a connection." + _for_thread(finding)
        ),
        of.FloorBound: lambda finding: (
            f"The deadlock floor of each process{_of(finding)} is " + "{floor:,}, above the {need:,} that the traffic "
            "needs: with fewer connections, threads that hold several can deadlock."
        ),
        of.NearSupply: lambda finding: (
            "On average {in_use:number} connections are in use, "
            f"{percent(finding.in_use / finding.supply)} of the {{supply:,}} that the database can use: near its "
            f"capacity (above {percent(of.NEAR)}), transactions wait in the database with any pool size."
        ),
        of.BeyondSupply: lambda finding: (
            f"{'By the formula, the' if finding.more_cores else 'The'} database is too small for this traffic: on "
            "average {in_use:number} connections are in use, and it can use {supply:,} for all processes together. No "
            f"pool size helps. To use {percent(of.NEAR)} of the database: "
            + (
                "{share:%} of all rates, the same share of all usage times, or "
                if finding.services > 1
                else "a rate of {rate:/s}, a usage time of {usage_ms:ms}, or "
            )
            + "a database that can use {enough:#connection}"
            + (f" ({count(finding.more_cores, 'more core')})" if finding.more_cores else "")
            + ". If your own code, "
            "or a queue in the database, takes a part of the usage time, measure the database with "
            "`poolsize sweep`: it may be fast enough."
        ),
        of.BurstBeyondSupply: "In the busiest second of a minute, {in_use:number} connections are in use on "
        "average, and the database can use {supply:,}: usage times are longer then, and the waits with them.",
        of.LimitAllows: lambda finding: (
            "The server's limit leaves {usable:#connection} for "
            f"{count(finding.processes, 'process', 'processes')} of a rolling deploy: {{limit:,}} for each process. "
            "Kubernetes does not count terminating pods in maxSurge: until their grace period ends, more pods may run."
        ),
        of.WaitsElsewhere: lambda finding: (
            ("In the busiest second of a minute, requests come at" if finding.in_burst else "The rate is")
            + " {share:.0f %} of what the database completes at most. With {pool_size:#connection} in each process, "
            "the mean total time is {total_ms:ms}"
            + (
                "; with {need:,}, which keep the p99 wait time within {limit_ms:ms}"
                + (" with one of {one_away_of:,} instances away" if finding.one_away_of else "")
                + ", it is {need_total_ms:ms}, because requests wait in the database instead. "
                if finding.need > finding.pool_size
                else ", which larger pools hardly shorten. No pool size keeps the p99 wait time within {limit_ms:ms}. "
            )
            + "A lower rate or a shorter usage time helps."
        ),
        of.Slows: lambda finding: (
            "The database slows as it fills, by the run: at this rate the mean usage time is {loaded_usage_ms:ms}"
            + _instead_of(finding.usage_ms, finding.loaded_usage_ms)
            + ". The database keeps up with at most {knee_rate:/s}"
            + (
                ", which is extrapolated: the highest measured throughput is {extrapolated_from:/s}. "
                if finding.extrapolated_from
                else ". "
            )
            + "In an overload, with all {connections:#connection} in use, it completes {full_rate:/s}, and a request "
            f"uses its connection for {milliseconds(1000 * finding.connections / finding.full_rate)}."
        ),
        of.Collapses: lambda finding: (
            "The database slows down when it is full, by the run: with more than {most:#connection} in use, it "
            "completes less than {rate:/s}, and an overload does not end. "
            + (
                "All pools together have {connections:,}: run fewer processes, or put a proxy before the database."
                if finding.connections > finding.most
                else "So larger pools do not make waits shorter."
            )
        ),
        of.NearKnee: "The rate is {share:.0f %} of what the database completes. On average {in_use:number} "
        "connections are in use, and it can use {supply:,}: larger pools only move waiting into the database. "
        "The p99 waits are usually within 25 % of a simulation's. A lower rate or a shorter usage time helps.",
        of.BeyondKnee: lambda finding: (
            "No pool size helps. The rate is {rate:/s}, and by the run the database completes at most {knee_rate:/s}"
            + (
                " (the highest measured throughput, {taken_for_noise:/s}, counts as noise)"
                if finding.taken_for_noise
                else ""
            )
            + ". Lower the rate, or make the database more than {times:.2f} times as fast."
        ),
        of.SupplyUnknown: _supply_unknown,
        of.UsageOfRun: "The usage time is that of the run's transactions in the database alone, {usage_ms:ms}, and "
        "varies as they do. If your application holds a connection for longer, add --usage-time.",
        of.ThreadsUnknown: "If a pool of threads serves the requests of a process, add its size: --app-threads. Go and "
        "Node.js have no such pool. With fewer than {pool_size:,} threads, such as the 1 of gunicorn's sync worker, a "
        "process can't use its whole pool.",
        of.SpreadAssumed: lambda finding: (
            f"Usage times are assumed to {_as_assumed(finding.variation)}. If your usage times vary much more or less, "
            + ("add usage_p99_ms in a file of --services." if finding.several else "add their p99: --usage-p99.")
        ),
    }
)
