"""Statements as a server would have logged them, and the workload that is captured from them."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from poolsize.capture.captured import captured_workload
from poolsize.capture.events import StatementEvent, Tally
from poolsize.capture.workload import CapturedWorkload

START = 1_780_000_000.0
"""28 May 2026, 20:26:40 UTC."""
STATEMENT_SECONDS, PAUSE_SECONDS = 0.001, 0.5


def captured(transactions: Iterable[Sequence[str]], *, keeps_values: bool = False) -> CapturedWorkload:
    """Return the workload of transactions, which are run one after the other by 8 sessions. A text is a statement."""
    tally = Tally()
    events = map(tally.counted, logged(transactions))
    return captured_workload(events, "slow log", tally, lambda: (), keeps_values=keeps_values)


def logged(transactions: Iterable[Sequence[str]]) -> Iterator[StatementEvent]:
    """Yield the statements of transactions."""
    now = START
    for number, statements in enumerate(transactions):
        for text in statements:
            yield StatementEvent(number % 8 + 1, now, STATEMENT_SECONDS, text, rows_sent=1)
            now += STATEMENT_SECONDS
        now += PAUSE_SECONDS / 8


def explicit(*statements: str) -> tuple[str, ...]:
    """Return a transaction with its BEGIN and its COMMIT."""
    return ("BEGIN", *statements, "COMMIT")


def repeated(count: int, make: Callable[[random.Random, int], Sequence[str]], seed: int = 1) -> list[Sequence[str]]:
    """Return transactions that a function of a generator of random numbers and of a number makes."""
    chance = random.Random(seed)
    return [make(chance, number) for number in range(count)]


def zipf_ids(exponent: float, values: int, draws: int, *, seed: int, scattered: bool) -> list[int]:
    """Return ids from 1 to `values`, drawn from a Zipf distribution; those of the first ranks are low, or anywhere."""
    generator = np.random.default_rng(seed)
    shares = np.arange(1, values + 1) ** -float(exponent)
    ranks = generator.choice(values, draws, p=shares / shares.sum())
    ids = generator.permutation(values) + 1 if scattered else np.arange(1, values + 1)
    return [int(number) for number in ids[ranks]]
