"""Numbers as text for people: three significant digits and a unit."""

from collections.abc import Sequence
from math import ceil, floor, isnan, log10
from typing import Annotated

FloatOrNull = Annotated[float, "null"]
"""A number that is NaN where it is not known, or infinite where it has no end: in JSON it is then null."""


def number(value: float) -> str:
    """Return a number with three significant digits: 0.0421, 8.25, 516.

    From 100 on it has no decimals, and separators at the thousands: 12,341. NaN, an unknown number, is "?".
    """
    if value == 0:
        return "0"
    if isnan(value):
        return "?"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def rounded_down(value: float) -> float:
    """Return a positive number rounded down to three significant digits, so that its text is never more than it."""
    digit = 10.0 ** (floor(log10(value)) - 2)
    return float(f"{floor(round(value / digit, 6)) * digit:.3g}")


def milliseconds(value_ms: float) -> str:
    """Return a duration with its unit: 8.25 ms, or 12 s from 10 s on. NaN, an unknown duration, is "?"."""
    if isnan(value_ms):
        return "?"
    return f"{number(value_ms / 1000)} s" if value_ms >= 10_000 else f"{number(value_ms)} ms"


def per_second(rate: float) -> str:
    """Return a rate per second with its unit: 516/s."""
    return f"{number(rate)}/s"


def signed_percent(fraction: float) -> str:
    """Return a fraction as a percentage with its sign and one decimal: -0.059 -> -5.9 %."""
    text = f"{100 * fraction:+.1f} %"
    return "±0.0 %" if text == "-0.0 %" else text


def loss_text(share: float) -> str:
    """Return a share of throughput in whole percent, which is as much as its noise supports."""
    return f"{100 * share:.0f} % of throughput" if share >= 0.005 else "no measurable throughput"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage: 0.034 -> 3.4 %."""
    return f"{number(fraction * 100)} %"


def at_most(fraction: float) -> str:
    """Return an upper bound, a fraction, in whole percent, rounded up: 0.034 -> 4 %."""
    return f"{max(1, ceil(100 * fraction))} %"


def any_of(ways: Sequence[str]) -> str:
    """Return ways of which any is enough: "a", "a, or b", "a, b, or c"."""
    return ", ".join([*ways[:-1], f"or {ways[-1]}"] if len(ways) > 1 else ways)


def probability_text(probability: float) -> str:
    """Return a probability in whole percent: 87 %, less than 1 %, more than 99 %."""
    if probability < 0.01:
        return "less than 1 %"
    return "more than 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def pool_sizes(sizes: Sequence[int]) -> str:
    """Return pool sizes in words: the pool size 4, or the pool sizes 4, 8 and 16. sizes: not empty."""
    *first, last = map(str, sizes)
    return f"the pool sizes {', '.join(first)} and {last}" if first else f"the pool size {last}"


def minutes(seconds: float) -> str:
    """Return a time in seconds, rounded for people: 45 s, 2 min 05 s, 1 h 10 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def lasting(seconds: float) -> str:
    """Return a time as people say it: 7 days, 3 hours, 12 minutes."""
    for unit, name in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * unit or (seconds >= unit and name == "minute"):
            return count(round(seconds / unit), name)
    return count(round(seconds), "second")


def count(quantity: float, noun: str, plural: str = "") -> str:
    """Return a quantity with its noun: 1 connection, 1.5 cores. plural: where the noun does not take an s."""
    return f"{round(quantity, 2):{',' if quantity % 1 else ',.0f'}} {noun if quantity == 1 else plural or f'{noun}s'}"


def sizes_text(sizes: tuple[int, int]) -> str:
    """Return the range of a pool size: 6 to 9, or 7 where both ends are equal."""
    low, high = sizes
    return str(low) if low == high else f"{low} to {high}"
