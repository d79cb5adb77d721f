"""The findings of the answer for a traffic as sentences."""

from math import isinf

from poolsize.answer import from_traffic
from poolsize.present.text.sentences.findings import filled, register_templates, sentence


@sentence.register
def _(finding: from_traffic.KeepsWait) -> str:
    away = " with one of {one_away_of} instances away" if finding.one_away_of else ""
    if finding.wait_p99_ms:
        wait = "its p99 wait time is {wait_p99_ms:ms}" + away
    else:
        wait = "fewer than 1 % of the requests wait" + away
    fewer = ""
    if finding.fewer_p99_ms is not None:
        smaller = finding.need - 1
        grows = "the queue would grow without end" if isinf(finding.fewer_p99_ms) else "it would be {fewer_p99_ms:ms}"
        fewer = f" With {smaller}, {grows}."
    return filled(
        "The traffic needs {need:#connection} in each process: the smallest pool with a p99 wait time of at most "
        "{limit_ms:ms}. " + wait[0].upper() + wait[1:] + "." + fewer,
        vars(finding),
    )


@sentence.register
def _(finding: from_traffic.LimitBound) -> str:
    wait = "The queue grows without end" if isinf(finding.wait_p99_ms) else "The p99 wait time is {wait_p99_ms:ms}"
    return filled(
        "The server's limit allows {limit:#connection} in each of {processes:,} processes of a deploy ({usable:,} in "
        "all), and the traffic needs {need}. "
        + wait
        + (" with one instance away" if finding.one_away_of else "")
        + ". Raise max_connections, or run fewer processes.",
        vars(finding),
    )


@sentence.register
def _(finding: from_traffic.InUse) -> str:
    at_once = (
        "{in_use:number} connections are in use on average, and at most {in_use_p99_9:,} for 99.9 % of the time. The "
        "database can use {supply:,} at once"
    )
    if finding.connections <= finding.supply:
        return filled(at_once + ", and the pools have no more.", vars(finding))
    if finding.share_beyond < 0.001:
        return filled(
            at_once + ", so the pools may have {connections:,} together: they hardly ever use so many. In an overload "
            "they do, and then requests queue in the database.",
            vars(finding),
        )
    return filled(
        at_once + ". More are in use for {share_beyond:%} of the time: usage times are then longer than the given one, "
        "and in an overload all {connections:,} connections reach the database.",
        vars(finding),
    )


register_templates(
    {
        from_traffic.ThreadsBound: "A process has {threads:#thread}, which can use {connections:#connection}: with a "
        "connection for each, no thread waits.",
        from_traffic.FloorBound: "The deadlock floor of each process is {floor}, above the {need} that the traffic "
        "needs: with fewer connections, threads that hold several can deadlock.",
        from_traffic.BeyondSupply: "No pool size helps: {in_use:number} connections are in use on average, and the "
        "database can use {supply:,} at once. The database keeps up with at most {rate:/s}, or with a usage time of "
        "{usage_ms:ms}, or with {times:number} times the cores.",
        from_traffic.Slows: "The database slows as it fills, by the run: at this rate the mean usage time is "
        "{loaded_usage_ms:ms}, in place of {usage_ms:ms}. It keeps up with at most {knee_rate:/s}. In an overload, "
        "with all {connections:#connection} in use, a request uses its connection for {overloaded_usage_ms:ms}.",
        from_traffic.NearKnee: "{share:.0f %} of what the database completes arrives: {in_use:number} connections are "
        "in use on average, more than the {supply:,} that it can use. Larger pools only move waiting from the pools "
        "into the database. A lower rate or a shorter usage time helps.",
        from_traffic.BeyondKnee: "No pool size helps: {rate:/s} arrive, and by the run the database completes at most "
        "{knee_rate:/s} with {connections:#connection} in use. The queue grows without end, unless the rate falls, or "
        "the database becomes {times:number} times as fast.",
        from_traffic.SupplyUnknown: "{in_use:number} connections are in use on average, and at most {in_use_p99_9:,} "
        "for 99.9 % of the time. Whether the database can use so many is not known: add --cores of its host, or a "
        "measured --run.",
        from_traffic.SpreadAssumed: "Usage times are taken to vary like exponential ones. If some are much longer than "
        "others, add --usage-p99.",
    }
)
