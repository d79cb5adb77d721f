"""A comparison in words, as a table for a terminal, and as JSON for a program."""

import json
from dataclasses import asdict

from poolsize.analysis.comparison import Compared, Comparison, Difference
from poolsize.present.bullets import bullets
from poolsize.present.table import Table
from poolsize.units import count, milliseconds, minutes, per_second, percent


def comparison_text(found: Comparison) -> str:
    """What is compared, each run's answer, then for each run how it differs, and whether that is real."""
    parts = [found.title, runs_table(found).as_text()]
    for value, other in zip(found.values[1:], found.others, strict=True):
        parts += [f"{value} against {found.values[0]}:", differences_table(found, other).as_text()]
        parts.append(bullets(sentences(found, other, value)))
    return "\n\n".join(parts)


def comparison_json(found: Comparison) -> str:
    """One JSON object: field, runs, and the differences of each run from the first, size by size."""
    runs = [
        {
            "run": name,
            "value": value,
            "plateau": asdict(analysis.plateau) if analysis.plateau else None,
        }
        for name, value, analysis in found.runs
    ]
    differences = [
        {
            "run": other.name,
            "throughput": _as_fields(other.throughput),
            "sizes": [
                {
                    "pool_size": size.pool_size,
                    "throughput": _as_fields(size.throughput),
                    "p95": _as_fields(size.p95),
                }
                for size in other.sizes
            ],
            "apart_seconds": other.apart_seconds,
            "slower": other.slower,
            "sentences": sentences(found, other, value),
        }
        for value, other in zip(found.values[1:], found.others, strict=True)
    ]
    return json.dumps({"field": found.field, "runs": runs, "differences": differences})


def runs_table(found: Comparison) -> Table:
    """One line a run: its plateau with the range, and its best throughput."""
    rows = []
    for name, value, analysis in found.runs:
        plateau = analysis.plateau
        assert plateau is not None  # else there was nothing to compare
        between = "" if plateau.low == plateau.high else f" ({plateau.low}-{plateau.high})"
        rows.append((value, f"{plateau.pool_size}{between}", per_second(plateau.best), name))
    return Table((found.field or "run", "connections", "best", "run"), tuple(rows))


def differences_table(found: Comparison, other: Compared) -> Table:
    """One line a size: both runs' throughput and p95, and each difference with its interval."""
    first = found.first
    rows = []
    for size in other.sizes:
        both = first.measured(size.pool_size) and other.analysis.measured(size.pool_size)
        times = [one.at(size.pool_size).total.p95 for one in (first, other.analysis)] if both else []
        rows.append(
            (
                str(size.pool_size),
                per_second(first.throughput_at(size.pool_size)),
                per_second(other.analysis.throughput_at(size.pool_size)),
                *_with_interval(size.throughput),
                *(map(milliseconds, times) if both else ("", "")),
                *_with_interval(size.p95),
            )
        )
    return Table(
        ("pool", "first", "this", "more", "95 % interval", "first p95", "this p95", "more", "95 % interval"),
        tuple(rows),
    )


def sentences(found: Comparison, other: Compared, value: str) -> list[str]:
    """Whether the difference is real, where it is largest, what the sizes are, and what else may have changed."""
    return [_verdict(other, value, found.values[0]), *_largest(other), *_sizes(found, other), *_doubts(other)]


def _verdict(other: Compared, value: str, first: str) -> str:
    difference = other.throughput
    if difference is None:
        return "At a fixed rate throughput is what arrives: compare the latencies."
    low, high = _signed(difference.low), _signed(difference.high)
    span = f"over {count(len(other.sizes), 'size')} ({low} to {high})"
    if difference.real:
        more = "more" if difference.mean > 0 else "less"
        return f"{value} does {percent(abs(difference.mean))} {more} than {first} on average {span}: a real difference."
    return (
        f"On average {value} does {_signed(difference.mean)} against {first} {span}: no real difference, chance alone "
        "makes as much."
    )


def _largest(other: Compared) -> list[str]:
    size = other.largest
    if size is None or size.throughput is None:
        return []
    low, high = _signed(size.throughput.low), _signed(size.throughput.high)
    furthest = count(size.pool_size, "connection")
    return [f"It is furthest away with {furthest}, by {_signed(size.throughput.mean)} ({low} to {high})."]


def _sizes(found: Comparison, other: Compared) -> list[str]:
    ours, theirs = found.first.plateau, other.analysis.plateau
    assert ours is not None
    assert theirs is not None
    if ours.low > theirs.high or theirs.low > ours.high:
        return [f"It wants another pool: {count(theirs.pool_size, 'connection')} instead of {ours.pool_size}."]
    if ours.pool_size == theirs.pool_size:
        return [f"Both want the same pool: {count(ours.pool_size, 'connection')}."]
    begins = f"The plateau begins at {theirs.pool_size} instead of {ours.pool_size}"
    return [f"{begins}; chance may make that, for their ranges overlap."]


def _doubts(other: Compared) -> list[str]:
    said = []
    if other.other_machine and other.slower is not None:
        said.append(
            f"The machine itself was not the same: a turn of the load's own loop took {_signed(other.slower)} time. "
            "Measure both again, right after each other."
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
    mark = " !" if difference.real else ""
    return f"{_signed(difference.mean)}{mark}", f"{_signed(difference.low)} to {_signed(difference.high)}"


def _signed(share: float) -> str:
    """A share more or less: +3.4 %, -12.0 %."""
    return f"{100 * share:+.1f} %"


def _as_fields(difference: Difference | None) -> dict[str, float | bool] | None:
    return None if difference is None else asdict(difference) | {"real": difference.real}
