"""A comparison in words, as a table for a terminal, and as JSON for a program."""

import json
from dataclasses import asdict

from poolsize.analysis.comparison import Compared, Comparison, Difference
from poolsize.analysis.summary import Analysis
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
        both = [one.at(size.pool_size) for one in (first, other.analysis)]
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
        ("pool", "first", "this", "likely more", "95 % interval", "first p95", "this p95", "more", "95 % interval"),
        tuple(rows),
    )


def sentences(found: Comparison, other: Compared, value: str) -> list[str]:
    """Whether the difference is real, where it is largest, what the sizes are, and what else may have changed."""
    return [_verdict(other, value, found.values[0]), *_where(other), *_sizes(found, other), *_doubts(found, other)]


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


def _where(other: Compared) -> list[str]:
    """At which sizes it is real, and at which of them it is largest."""
    if not other.real:
        return []
    sizes = ", ".join(map(str, other.real))
    furthest, difference = max(other.real.items(), key=lambda real: abs(real[1].mean))
    beginning = "With" if other.throughput and other.throughput.real else "But with"
    most = f"{_signed(difference.mean)} ({_signed(difference.low)} to {_signed(difference.high)})"
    return [f"{beginning} {sizes} connections by themselves it is real, furthest with {furthest}: {most}."]


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


def _doubts(found: Comparison, other: Compared) -> list[str]:
    said = []
    both = (found.first, other.analysis)
    compared = [size.pool_size for size in other.sizes]
    busy = [size for size in compared if any(one.at(size).failed("generator") for one in both)]
    if busy:
        said.append(
            f"With {', '.join(map(str, busy))} connections the load process itself was busy or late (generator): what "
            "the database can do there may differ by more, or by less."
        )
    left_out = [size for size in _measured_in(both) if size not in compared]
    if left_out:
        said.append(f"Left out, for a check failed that voids them: {', '.join(map(str, left_out))}.")
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


def _measured_in(both: tuple[Analysis, Analysis]) -> list[int]:
    """Sizes that both runs measured, whatever the checks said."""
    first, other = ({size.pool_size for size in one.sizes} for one in both)
    return sorted(first & other)


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
