"""The literals that a parameter had -> how it is drawn: a constant, a range, skewed values, a text, a moment."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.capture.columns import Place
from poolsize.capture.literals import Kept, Kind, LongText, Value, is_harmless, value_of
from poolsize.capture.skew import Skew
from poolsize.capture.spread import (
    DENSE,
    Counts,
    age_ends,
    rounded_ends,
    skew_of,
    spread_moments,
    spread_numbers,
    spread_texts,
)
from poolsize.capture.workload import (
    MOST_HEAVY,
    Constant,
    Drawn,
    Heavy,
    HeavyValue,
    Range,
    Tail,
    Text,
    Time,
    value_hash,
)
from poolsize.capture.workload import Sequence as Growing

LEAST_SHARE, LEAST_COUNT = 0.01, 20
"""Of a frequent value; a value with fewer draws is not even hashed."""
SURPLUS = 1.5
"""A value that is so many times as frequent as the fitted distribution says stands by itself."""
SEEN_OFTEN = 10
"""Draws for each of a few values, from which on all of them stand by themselves."""
LEAST_GROWING = 20
GROWS = 0.99
"""Rank correlation with time of a number that counts up."""
TEN_YEARS = 315_360_000


@dataclass(frozen=True)
class Seen:
    """The literals of a parameter in the order of time, and when their statements started (nan where unknown)."""

    literals: Sequence[Kept]
    started: Vector


def parameter_of(seen: Seen, place: Place, *, in_insert: bool, keeps_values: bool) -> Drawn:
    """Return how a parameter is drawn. in_insert: the statement adds rows. keeps_values: literals may be shown."""
    counts = Counter(seen.literals)
    known = Counts(counts, _values(counts))
    if len(counts) == 1:
        ((literal, value),) = known.values.items()
        if _can_show(literal, value, place, keeps_values=keeps_values):
            return Constant(as_sql(value, literal), place.table, place.column)
    kind = _main_kind(known)
    drawn: Drawn
    if in_insert and kind == "number" and _grows(seen, known):
        numbers = known.numbers
        _, above = rounded_ends(numbers.seen[0][0], numbers.seen[-1][0], len(numbers.seen))
        drawn = Growing(above, numbers.is_quoted)
    else:
        drawn = _with_frequent(seen, known, kind, place, keeps_values=keeps_values)
    return replace(drawn, table=place.table, column=place.column)


def unseen_parameter(place: Place) -> Constant | Text:
    """Return how a parameter is drawn of which the source shows no literal: from the column's values on the copy."""
    if place.is_limit:
        return Constant("10")
    return Text(1, 6, "digits", 0, table=place.table, column=place.column)


def as_sql(value: Value, literal: Kept) -> str:
    """Return a literal as SQL. value: of the literal."""
    if isinstance(literal, str):
        text = literal.encode(errors="replace").decode()
        return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    return f"x'{value.text}'" if value.kind == "bytes" else value.text


def _values(literals: Iterable[Kept]) -> Mapping[Kept, Value]:
    """Return literal -> value. Numbers and moments among other texts are texts themselves."""
    values = {literal: value_of(literal) for literal in literals}
    quoted = {value.kind for value in values.values() if value.is_quoted}
    if len(quoted) > 1:
        return {key: value._replace(kind="text") if value.is_quoted else value for key, value in values.items()}
    return values


def _main_kind(known: Counts) -> Kind:
    """Return the most frequent kind of the literals; "keyword" only where all are keywords."""
    weights: Counter[Kind] = Counter()
    for literal, count in known.counts.items():
        weights[known.values[literal].kind] += count
    keywords = weights.pop("keyword", 0)
    return weights.most_common(1)[0][0] if weights or not keywords else "keyword"


def _grows(seen: Seen, known: Counts) -> bool:
    """Return whether the literals of a parameter count up, each of them once."""
    if len(known.counts) < max(0.98 * len(seen.literals), LEAST_GROWING):
        return False
    if any(value.kind != "number" for value in known.values.values()):
        return False
    numbers = np.array([float(known.values[literal].number) for literal in seen.literals])
    return bool(np.corrcoef(np.arange(len(numbers)), numbers.argsort().argsort())[0, 1] > GROWS)


def _with_frequent(seen: Seen, known: Counts, kind: Kind, place: Place, *, keeps_values: bool) -> Drawn:
    """Return the frequent values with a tail of the other values, or the tail alone."""
    if kind == "keyword":
        frequent: list[Kept] = list(known.counts)
        tail: Tail = Range((0, 1))
    else:
        main = known.of(literal for literal in known.counts if known.values[literal].kind == kind)
        frequent, tail = _split(seen, known, main, kind)
    if not frequent:
        return tail
    values = []
    for literal in sorted(frequent, key=lambda literal: -known.counts[literal])[:MOST_HEAVY]:
        value = known.values[literal]
        can_show = _can_show(literal, value, place, keeps_values=keeps_values)
        share = round(known.counts[literal] / known.draws, 4)
        values.append(HeavyValue(share, value_hash(value.text), as_sql(value, literal) if can_show else None))
    return Heavy(tuple(values), replace(tail, table=place.table, column=place.column))


def _split(seen: Seen, known: Counts, main: Counts, kind: Kind) -> tuple[list[Kept], Tail]:
    """Return the frequent literals, and the tail. main: the literals of the kind that most of the literals have."""
    others = [literal for literal in known.counts if literal not in main.counts and _is_frequent(literal, known)]
    if kind == "moment":
        return others, _moments(seen, known)
    skew = skew_of(main, kind)
    if kind == "number" and (age := _unix_time(seen, main)):
        return others, age
    frequent = _standing_out(main, kind, skew)
    rest = main
    if 0 < len(frequent) < len(main.counts):
        rest = main.of(literal for literal in main.counts if literal not in frequent)
        skew = skew_of(rest, kind)
    return [*others, *frequent], spread_numbers(rest.numbers, skew) if kind == "number" else spread_texts(rest, skew)


def _is_frequent(literal: Kept, known: Counts) -> bool:
    """Return whether a literal is frequent enough to be one of the frequent values."""
    count = known.counts[literal]
    if known.values[literal].kind == "keyword":
        return True
    return count >= max(LEAST_COUNT, LEAST_SHARE * known.draws) and not isinstance(literal, LongText)


def _standing_out(main: Counts, kind: Kind, skew: Skew) -> set[Kept]:
    """Return the literals that are far more frequent than the fitted distribution says, or all of a few literals."""
    candidates = [literal for literal in main.counts if _is_frequent(literal, main)]
    few = len(main.counts) <= MOST_HEAVY and main.draws >= SEEN_OFTEN * len(main.counts)
    is_even_range = (
        kind == "number"
        and len(main.counts) > 2
        and not skew.exponent
        and (main.numbers.span < DENSE * len(main.counts))
    )
    if few and not is_even_range:
        return set(candidates)
    candidates.sort(key=lambda literal: -main.counts[literal])
    seen = np.array([main.counts[literal] for literal in candidates]) / main.draws
    expected = skew.share(np.arange(1.0, len(candidates) + 1))
    noise = 3 * (expected / main.draws) ** 0.5
    return {literal for literal, out in zip(candidates, seen > SURPLUS * expected + noise, strict=True) if out}


def _moments(seen: Seen, known: Counts) -> Time:
    moments = ((known.values[literal], started) for literal, started in zip(seen.literals, seen.started, strict=True))
    return spread_moments([(value, float(started)) for value, started in moments if value.kind == "moment"])


def _unix_time(seen: Seen, main: Counts) -> Time | None:
    """Return numbers as moments in seconds or milliseconds since the epoch, where all are within years of the log."""
    numbers = np.array(
        [main.values[literal].number for literal in seen.literals if literal in main.counts], dtype=float
    )
    started = seen.started[[literal in main.counts for literal in seen.literals]]
    if main.numbers.decimals or len(main.counts) < 2 or np.isnan(started).any():
        return None
    if np.abs(started - numbers).max() < TEN_YEARS:
        return Time(age_ends(started - numbers), "unix")
    if np.abs(started - numbers / 1000).max() < TEN_YEARS:
        return Time(age_ends(started - numbers / 1000), "unix_ms")
    return None


def _can_show(literal: Kept, value: Value, place: Place, *, keeps_values: bool) -> bool:
    return not isinstance(literal, LongText) and (keeps_values or is_harmless(value, is_limit=place.is_limit))
