"""A comparison in words, as a table for a terminal, and as JSON for a program."""

import json
from dataclasses import asdict

from poolsize.analysis.stats.paired_differences import Difference
from poolsize.answer.comparison import Against, ComparedRun, Comparison
from poolsize.present.text.bullets import bullets
from poolsize.present.text.table import Table
from poolsize.units import count, milliseconds, minutes, per_second

NO_SIZE = {"edge": "at the edge of what was measured", "users-limited": "limited by its users", "noisy": "too noisy"}
"""Verdicts under which a run's size is none that could be compared."""


def comparison_text(found: Comparison) -> str:
    """What is compared, each run's answer, then for each run how it differs, and whether that is real."""
    parts = [found.title, runs_table(found).as_text()]
    for other in found.others:
        field = f" ({found.field})" if found.field else ""
        parts += [f"{other.run.value} against {found.first.value}{field}:", differences_table(found, other).as_text()]
        parts.append(bullets(sentences(found, other)))
    return "\n\n".join(parts)


def comparison_json(found: Comparison) -> str:
    """One JSON object: field, runs, and the differences of each run from the first, size by size."""
    runs = [
        {
            "run": run.name,
            "value": run.value,
            "pool_size": run.answer.pool_size,
            "range": run.answer.range,
            "verdict": run.answer.verdict,
        }
        for run in found.runs
    ]
    differences = [
        {
            "run": other.run.name,
            "throughput": _as_fields(other.throughput),
            "p95": _as_fields(other.p95),
            "sizes": [
                {
                    "pool_size": size.pool_size,
                    "throughput": _as_fields(size.throughput),
                    "p95": _as_fields(size.p95),
                }
                for size in other.sizes
            ],
            "left_out": other.left_out,
            "apart_seconds": other.apart_seconds,
            "longer_loop": other.longer_loop,
            "sentences": sentences(found, other),
        }
        for other in found.others
    ]
    return json.dumps({"field": found.field, "runs": runs, "differences": differences})


def runs_table(found: Comparison) -> Table:
    """One line a run: its own answer with range and verdict, and its best throughput."""
    rows = []
    for run in found.runs:
        answer, plateau = run.answer, run.analysis.plateau
        assert plateau is not None  # else there was nothing to compare
        low, high = answer.range or (0, 0)
        between = "" if low == high else f" ({low}-{high})"
        size = f"{answer.pool_size}{between}" if answer.pool_size else "none"
        rows.append((run.value, size, answer.verdict or "", per_second(plateau.best), run.name))
    return Table((found.field or "run", "connections", "verdict", "best", "file"), tuple(rows))


def differences_table(found: Comparison, other: Against) -> Table:
    """One line a size: both runs' throughput and p95 of the total time, and each difference with its interval."""
    rows = []
    for size in other.sizes:
        both = [run.analysis.at(size.pool_size) for run in (found.first, other.run)]
        rows.append(
            (
                str(size.pool_size),
                *(per_second(one.throughput.mean) for one in both),
                *_with_interval(size.throughput),
                *(milliseconds(one.total.p95) for one in both),
                *_with_interval(size.p95),
            )
        )
    return Table(
        ("pool", "first", "this", "more", "95 % interval", "first p95", "this p95", "more", "95 % interval"),
        tuple(rows),
    )


def sentences(found: Comparison, other: Against) -> list[str]:
    """Whether the difference is real, where it is, what the sizes are, and what else may have changed."""
    return [
        *_machine(other),
        _verdict(other, found.first.value),
        *_where(other),
        *_latency(other),
        *_sizes(found.first, other.run),
        *_doubts(found.first, other),
    ]


def _verdict(other: Against, first: str) -> str:
    what, difference = ("throughput", other.throughput) if other.throughput else ("p95", other.p95)
    if difference is None:
        return "Neither throughput nor latencies can be compared: at a fixed rate, and without percentiles."
    span = f"on average over {count(len(other.sizes), 'size')} ({_interval(difference)})"
    if difference.real:
        more = "more" if difference.mean > 0 else "less"
        does = (
            f"does {100 * abs(difference.mean):.1f} % {more}"
            if what == "throughput"
            else (
                f"has a p95 that is {100 * abs(difference.mean):.1f} % {'longer' if difference.mean > 0 else 'shorter'}"
            )
        )
        return f"{other.run.value} {does} than {first} {span}: a real difference."
    return (
        f"Between {other.run.value} and {first} no difference in {what} is to be seen {span}. To find a "
        "smaller one, measure both longer, or with --repeats 3."
    )


def _where(other: Against) -> list[str]:
    """At which sizes it is real by itself, and at which of them it is largest."""
    if not other.real_sizes:
        return []
    sizes = ", ".join(map(str, other.real_sizes))
    furthest, difference = max(other.real_sizes.items(), key=lambda real: abs(real[1].mean))
    beginning = "With" if other.throughput and other.throughput.real else "But with"
    most = f"furthest with {furthest}: {_signed(difference.mean)} ({_interval(difference)})"
    return [f"{beginning} {sizes} connections by themselves it is real; {most}."]


def _latency(other: Against) -> list[str]:
    """In a closed loop latency follows throughput and users, but who waits wants to know."""
    p95 = other.p95
    if p95 is None or not p95.real or other.throughput is None:
        return []
    longer = f"{100 * abs(p95.mean):.1f} % {'longer' if p95.mean > 0 else 'shorter'}"
    return [f"Its p95 is {longer} on average ({_interval(p95)}): a real difference."]


def _machine(other: Against) -> list[str]:
    """That the machine was not the same, before anything is made of the rest."""
    if not other.other_machine or other.longer_loop is None:
        return []
    longer = f"{100 * abs(other.longer_loop):.0f} % {'longer' if other.longer_loop > 0 else 'less time'}"
    what = f"The machine itself was not the same: a turn of the load's own loop took {longer}"
    return [f"{what}. What follows may be its doing; measure both again, right after each other."]


def _sizes(first: ComparedRun, other: ComparedRun) -> list[str]:
    """Whether they want different pools, as far as each run's own answer may be taken for one."""
    for run in (first, other):
        if why := NO_SIZE.get(run.answer.verdict or ""):
            return [f"Which pool each wants can't be compared: the answer of {run.value} is {why}."]
    ours, theirs = first.answer, other.answer
    if not (ours.pool_size and theirs.pool_size and ours.range and theirs.range):
        return []
    if ours.pool_size == theirs.pool_size:
        return [f"Both want the same pool: {count(ours.pool_size, 'connection')}."]
    wants = f"{other.value} wants {count(theirs.pool_size, 'connection')} instead of {ours.pool_size}"
    if ours.range[0] > theirs.range[1] or theirs.range[0] > ours.range[1]:
        return [f"{wants}, and their ranges are apart."]
    return [f"{wants}; chance may make that, for their ranges overlap."]


def _doubts(first: ComparedRun, other: Against) -> list[str]:
    said = []
    compared = [size.pool_size for size in other.sizes]
    both = (first.analysis, other.run.analysis)
    busy = [size for size in compared if any(one.at(size).failed("generator") for one in both)]
    if busy:
        said.append(
            f"With {', '.join(map(str, busy))} connections the load process itself was busy or late (generator): what "
            "the database can do there may differ by more, or by less."
        )
    if other.left_out:
        said.append(
            f"Not compared, as only one run has them, or a check voids them: {', '.join(map(str, other.left_out))}."
        )
    if other.apart_seconds:
        said.append(
            f"The runs began {minutes(abs(other.apart_seconds))} apart: what else changed in between is in the "
            "difference."
        )
    return said


def _with_interval(difference: Difference | None) -> tuple[str, str]:
    if difference is None:
        return "", ""
    return f"{_signed(difference.mean)}{' !' if difference.real else ''}", _interval(difference)


def _interval(difference: Difference) -> str:
    return f"{_signed(difference.low)} to {_signed(difference.high)}"


def _signed(share: float) -> str:
    """A share more or less: +3.4 %, -12.0 %."""
    return f"{100 * share:+.1f} %"


def _as_fields(difference: Difference | None) -> dict[str, float | bool] | None:
    return None if difference is None else asdict(difference) | {"real": difference.real}
