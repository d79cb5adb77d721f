"""The literals that a parameter had -> its draw: a constant, a range, skewed values, a text, a moment."""

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from poolsize.capture.literals import UNSEEN, Kept, Kind, LongText, Value
from poolsize.capture.skew import Skew
from poolsize.capture.spread import (
    DENSE,
    Seen,
    counts_up,
    even_pieces,
    list_width,
    spread_moments,
    spread_numbers,
    spread_texts,
    unix_times,
)
from poolsize.capture.workload import (
    MOST_HEAVY,
    Constant,
    Drawn,
    Heavy,
    HeavyValue,
    Parameter,
    Range,
    Several,
    Tail,
    Text,
)
from poolsize.capture.workload import Sequence as Growing

LEAST_SHARE, LEAST_COUNT = 0.01, 20
"""Of a frequent value."""
SURPLUS = 1.5
"""A value is frequent by itself if it has so many times the draws of the fitted distribution."""
SEEN_OFTEN = 10
"""Draws for each of a few values, from which on all of them are frequent."""
LEAST_GROWING = 20
MOST_LISTED = 300_000
"""Literals of all lists of a parameter that are used."""


def parameter_of(
    seen: Sequence[tuple[float, Kept | tuple[Kept, ...]]], *, is_limit: bool, in_insert: bool, keeps_values: bool
) -> Parameter:
    """Return how a parameter is drawn, which may be a list.

    seen: when statements started (nan where unknown), and the parameter's literal or list, by time. is_limit: of
    rows. in_insert: the statements add rows. keeps_values: literals may be shown. The column is not set.
    """
    lengths = [len(literal) for _, literal in seen if isinstance(literal, tuple)]
    flat = [
        (started, item) for started, literal in seen for item in (literal if isinstance(literal, tuple) else (literal,))
    ][:MOST_LISTED]
    shown = [(started, literal) for started, literal in flat if literal is not UNSEEN]
    literals = Seen.of([literal for _, literal in shown], [started for started, _ in shown])
    item = (
        _item(literals, is_limit=is_limit, in_insert=in_insert, keeps_values=keeps_values) if shown
        else Constant("10") if is_limit
        else Text(1, 6, "digits", 0)  # from the column's values on the copy
    )  # fmt: skip
    if not lengths:
        return item
    mean = float(f"{sum(lengths) / len(lengths):.6g}")
    within = list_width([literal for _, literal in seen if isinstance(literal, tuple)], literals)
    return Several(item, min(lengths), max(lengths), mean, within)


def _item(seen: Seen, *, is_limit: bool, in_insert: bool, keeps_values: bool) -> Drawn:
    def shown(literal: Kept) -> str | None:
        """Return a literal as SQL, None for a value that must not be shown."""
        value = seen.values[literal]
        can_show = keeps_values or value.is_harmless(is_limit=is_limit)
        return as_sql(value, literal) if can_show and not isinstance(literal, LongText) else None

    if len(seen.values) == 1 and (constant := shown(seen.literals[0])) is not None:
        return Constant(constant)
    kind = _main_kind(seen)
    is_long = in_insert and len(seen.literals) >= LEAST_GROWING
    if is_long and counts_up([seen.values[literal] for literal in seen.literals]):
        return Growing(seen.numbers.ends[1], seen.numbers.is_quoted)
    frequent, tail = _split(seen, kind)
    if not frequent:
        return tail
    first = sorted(frequent, key=lambda literal: -seen.counts[literal])[:MOST_HEAVY]
    values = (HeavyValue(round(seen.counts[literal] / len(seen.literals), 4), shown(literal)) for literal in first)
    return Heavy(tuple(values), tail)


def as_sql(value: Value, literal: Kept) -> str:
    """Return a literal as SQL. value: of the literal."""
    if isinstance(literal, str):
        text = literal.encode(errors="replace").decode()
        return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    return f"x'{value.text}'" if value.kind == "bytes" else value.text


def _main_kind(seen: Seen) -> Kind:
    """Return the most frequent kind of the literals; "keyword" only where all are keywords."""
    weights: Counter[Kind] = Counter()
    for literal, count in seen.counts.items():
        weights[seen.values[literal].kind] += count
    del weights["keyword"]
    return weights.most_common(1)[0][0] if weights else "keyword"


def _split(seen: Seen, kind: Kind) -> tuple[Collection[Kept], Tail]:
    """Return the frequent literals, and the tail of the others. kind: of most of the literals."""
    if kind == "keyword":
        return list(seen.values), Range((0, 1))
    main = seen.only(lambda literal: seen.values[literal].kind == kind)
    others = [literal for literal in seen.values if literal not in main.values and _is_frequent(literal, seen)]
    if kind == "moment":
        return others, spread_moments(main)
    if kind == "number" and (age := unix_times(main)):
        return others, age
    if kind == "number" and len(main.values) > MOST_HEAVY and (pieces := even_pieces(main.numbers)):
        return others, pieces
    skew = main.skew(kind)
    frequent = _standing_out(main, kind, skew)
    if 0 < len(frequent) < len(main.values):
        main = main.only(lambda literal: literal not in frequent)
        skew = main.skew(kind)
    return [*others, *frequent], spread_numbers(main.numbers, skew) if kind == "number" else spread_texts(main, skew)


def _is_frequent(literal: Kept, seen: Seen) -> bool:
    """Return whether a literal is frequent enough for the list of frequent values."""
    if seen.values[literal].kind == "keyword":
        return True
    is_frequent = seen.counts[literal] >= max(LEAST_COUNT, LEAST_SHARE * len(seen.literals))
    return is_frequent and not isinstance(literal, LongText)


def _standing_out(main: Seen, kind: Kind, skew: Skew) -> set[Kept]:
    """Return the literals that are far more frequent than in the fitted distribution, or all of a few literals."""
    candidates = [literal for literal in main.values if _is_frequent(literal, main)]
    different, draws = len(main.values), len(main.literals)
    is_even = kind == "number" and different > 2 and not skew.exponent and main.numbers.span < DENSE * different
    if different <= MOST_HEAVY and draws >= SEEN_OFTEN * different and not is_even:
        return set(candidates)
    candidates.sort(key=lambda literal: -main.counts[literal])
    seen = np.array([main.counts[literal] for literal in candidates]) / draws
    expected = skew.share(np.arange(1.0, len(candidates) + 1))
    noise = 3 * (expected / draws) ** 0.5
    return {literal for literal, out in zip(candidates, seen > SURPLUS * expected + noise, strict=True) if out}
