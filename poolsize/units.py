"""Numbers as people read them: three significant digits and a unit."""

from math import isnan


def number(value: float) -> str:
    """Three significant digits, thousands separated: 0.0421, 8.25, 516, 12,341."""
    if value == 0:
        return "0"
    if isnan(value):
        return "?"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def milliseconds(value_ms: float) -> str:
    """A duration in milliseconds, in seconds from 10 s on; "?" for NaN, which nobody knows."""
    if isnan(value_ms):
        return "?"
    return f"{number(value_ms / 1000)} s" if value_ms >= 10_000 else f"{number(value_ms)} ms"


def per_second(rate: float) -> str:
    """A rate: 516/s."""
    return f"{number(rate)}/s"


def percent(fraction: float) -> str:
    """A fraction as a percentage: 0.034 -> 3.4 %."""
    return f"{number(fraction * 100)} %"


def minutes(seconds: float) -> str:
    """A span of time to wait for: 45 s, 2 min 05 s, 1 h 10 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def count(quantity: int, noun: str) -> str:
    """A counted noun: 1 connection, 17 connections."""
    return f"{quantity:,} {noun}" if quantity == 1 else f"{quantity:,} {noun}s"
