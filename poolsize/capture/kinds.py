"""Transactions -> kinds of transactions: counted in bounded memory, with a random sample of the literals of each."""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isnan, nan
from typing import NamedTuple

from poolsize.capture.literals import UNSEEN, Kept, cut
from poolsize.capture.references import LEAST_TRANSACTIONS
from poolsize.capture.transactions import Ends, Executed, Transaction
from poolsize.capture.workload import LONGEST_STATEMENT, MOST_PARAMETERS, MOST_STATEMENTS

MOST_TRACKED = 4_000
"""Kinds that are counted at the same time; the rarest half is given up when there are more."""
MOST_EXECUTIONS_KEPT = 50
"""Executions of a repeated statement in a transaction whose literals are kept."""
CELLS_OF_KIND, CELLS_OF_ALL = 300_000, 2_000_000
"""Sizes of the samples: literals, and the tuples that hold them; a cell takes about 70 bytes."""
LONGEST_BLOCK = 6
"""Statements of a loop's body."""
SEED = 41
LEAST_FAMILY = 16
"""Kinds that differ in the numbers of their tables, from which on they are one kind."""
_NUMBERED = re.compile(r"(?<=[A-Za-z_])\d+\b")
_PLACEHOLDER = re.compile(r"`[^`]*`|%%|%s|(\bIN )\(\?(?: ?, ?\?)*\)|\?", re.IGNORECASE)


@dataclass(slots=True)
class Span:
    """The lowest, the highest and the sum of counts."""

    low: int = 10**9
    high: int = 0
    total: int = 0

    def add(self, count: int, low: int, high: int) -> None:
        """Add counts: their sum, the lowest and the highest."""
        self.total += count
        if low < self.low or high > self.high:  # rarely; this is called for each statement of a log
            self.low, self.high = min(self.low, low), max(self.high, high)


Literals = tuple[Kept | tuple[Kept, ...], ...]
"""Of an execution, or of a further row of an INSERT: one for each parameter of the text, a tuple for a list."""


@dataclass(slots=True)
class Run:
    """A statement's executions in a row, in one transaction, or those of a loop.

    rows_sent: -1 where unknown. least_rows, most_rows: of an INSERT; rows: of all executions.
    """

    text: str
    literals: list[Literals]
    executions: int
    rows_sent: int
    rows: int
    least_rows: int
    most_rows: int

    def add(self, other: "Run") -> None:
        """Add executions of the same statement."""
        self.executions += other.executions
        self.rows += other.rows
        if other.least_rows != self.least_rows or other.most_rows != self.most_rows:
            self.least_rows = min(self.least_rows, other.least_rows)
            self.most_rows = max(self.most_rows, other.most_rows)
        self.rows_sent = self.rows_sent + other.rows_sent if self.rows_sent >= 0 <= other.rows_sent else -1
        if len(self.literals) < MOST_EXECUTIONS_KEPT:
            self.literals += other.literals


class Sample(NamedTuple):
    """The literals of a transaction. number: ascends in time. started: nan where unknown.

    texts: of its statements. literals: of each statement of the kind, of each execution and each row.
    """

    number: int
    started: float
    texts: tuple[str, ...]
    literals: tuple[tuple[Literals, ...], ...]

    @property
    def cells(self) -> int:
        """The size."""
        return 3 + sum(1 + sum(1 + len(row) for row in rows) for rows in self.literals)


@dataclass(slots=True)
class StatementTally:
    """A statement of a kind. rows_sent: of all executions whose result is known, which are counted."""

    repeats: Span = field(default_factory=Span)
    rows: Span = field(default_factory=Span)
    rows_sent: int = 0
    known_results: int = 0


@dataclass(slots=True)
class KindTally:
    """The transactions of a kind so far.

    executions: statements of all transactions. held_seconds: of all transactions, nan where times are unknown.
    capacity: the most samples.
    """

    is_explicit: bool
    ends: Ends
    statements: list[StatementTally]
    capacity: int
    count: int = 0
    executions: int = 0
    seconds: float = 0.0
    held_seconds: float = 0.0
    samples: list[Sample] = field(default_factory=list)

    def add(self, runs: Sequence["Run"]) -> None:
        """Count the statements of a transaction in."""
        self.count += 1
        for statement, run in zip(self.statements, runs, strict=True):
            statement.repeats.add(run.executions, run.executions, run.executions)
            statement.rows.add(run.rows, run.least_rows, run.most_rows)
            if run.rows_sent >= 0:
                statement.rows_sent += run.rows_sent
                statement.known_results += run.executions

    def merge(self, other: "KindTally") -> None:
        """Count the transactions of another kind, with as many statements, in."""
        self.count += other.count
        self.executions += other.executions
        self.seconds += other.seconds
        self.held_seconds += other.held_seconds
        self.samples += other.samples
        for statement, more in zip(self.statements, other.statements, strict=True):
            statement.repeats.add(more.repeats.total, more.repeats.low, more.repeats.high)
            statement.rows.add(more.rows.total, more.rows.low, more.rows.high)
            statement.rows_sent += more.rows_sent
            statement.known_results += more.known_results


Key = tuple[bool, Ends, tuple[str, ...]]


class KindCounter:
    """Counts transactions by kind. All literals that it keeps are a random sample, and never more than its limits."""

    def __init__(self) -> None:
        self.kinds: dict[Key, KindTally] = {}
        self.transactions = self.statements = self.cut_off = 0
        self.seconds = 0.0
        """Of all transactions."""
        self.think_seconds, self.thinks = 0.0, 0
        self._cells = 0
        self._random = random.Random(SEED)

    def add(self, transaction: Transaction) -> None:
        """Count a transaction in."""
        seconds = 0.0 if isnan(transaction.seconds) else transaction.seconds
        self.transactions += 1
        self.statements += len(transaction.statements)
        self.seconds += seconds
        self.cut_off += not transaction.is_whole
        if not isnan(transaction.after_previous):
            self.think_seconds += max(transaction.after_previous, 0.0)
            self.thinks += 1
        runs = runs_of(transaction.statements) if transaction.is_whole else []
        if not 0 < len(runs) <= MOST_STATEMENTS:
            return
        key = (transaction.is_explicit, transaction.ends, tuple([run.text for run in runs]))
        tally = self.kinds.get(key) or self.kinds.get(family_of(key)) or self._new_kind(key, runs)
        if tally is None:
            return
        tally.executions += len(transaction.statements)
        tally.seconds += seconds
        tally.held_seconds += transaction.ended - transaction.started
        tally.add(runs)
        self._sample(tally, transaction.started, key[2], runs)

    def _new_kind(self, key: Key, runs: Sequence[Run]) -> KindTally | None:
        if sum(len(run.literals[0]) for run in runs) > MOST_PARAMETERS or sum(map(len, key[2])) > LONGEST_STATEMENT:
            return None
        if len(self.kinds) >= MOST_TRACKED:
            self._give_up_rare()
        cells = Sample(0, nan, key[2], tuple(tuple(run.literals) for run in runs)).cells
        capacity = max(LEAST_TRANSACTIONS, CELLS_OF_KIND // cells)
        tally = KindTally(key[0], key[1], [StatementTally() for _ in runs], capacity)
        self.kinds[key] = tally
        return tally

    def _give_up_rare(self) -> None:
        """Forget the half of the kinds with the fewest transactions: these count among the others."""
        self.merge_families()
        by_count = sorted(self.kinds, key=lambda key: self.kinds[key].count)
        for key in by_count[: max(0, len(by_count) - MOST_TRACKED // 2)]:
            del self.kinds[key]
        self._cells = self._all_cells()

    def merge_families(self) -> None:
        """Merge kinds that differ in the numbers of their tables only, where there are many: a table in shards."""
        families: dict[Key, list[Key]] = {}
        for key in self.kinds:
            families.setdefault(family_of(key), []).append(key)
        for family, (first, *others) in families.items():
            if not others or (len(others) < LEAST_FAMILY and family not in self.kinds):
                continue
            merged = self.kinds.pop(first)
            for key in others:
                merged.merge(self.kinds.pop(key))
            merged.samples = self._random.sample(merged.samples, min(merged.capacity, len(merged.samples)))
            self.kinds[family] = merged
        self._cells = self._all_cells()

    def _sample(self, tally: KindTally, started: float, texts: tuple[str, ...], runs: list[Run]) -> None:
        """Keep the literals of a transaction if chance says so, with the same probability for all (reservoir sampling).

        Source: Vitter, Random Sampling with a Reservoir, 1985, algorithm R.
        """
        if len(tally.samples) >= tally.capacity:
            place = int(self._random.random() * tally.count)
            if place >= len(tally.samples):
                return
            self._cells -= tally.samples[place].cells
            tally.samples[place] = tally.samples[-1]
            tally.samples.pop()
        literals = tuple(tuple(tuple([_kept(literal) for literal in row]) for row in run.literals) for run in runs)
        tally.samples.append(sample := Sample(self.transactions, started, texts, literals))
        self._cells += sample.cells
        if self._cells > CELLS_OF_ALL:
            self._halve_samples()

    def _halve_samples(self) -> None:
        for tally in self.kinds.values():
            tally.capacity = max(1, min(tally.capacity, len(tally.samples)) // 2)
            tally.samples = self._random.sample(tally.samples, min(tally.capacity, len(tally.samples)))
        self._cells = self._all_cells()

    def _all_cells(self) -> int:
        return sum(sample.cells for tally in self.kinds.values() for sample in tally.samples)


def family_of(key: Key) -> Key:
    """Return what kinds have in common that differ in the numbers at the ends of names only."""
    return key[0], key[1], tuple(map(_without_numbers, key[2]))


@lru_cache(5_000)
def _without_numbers(text: str) -> str:
    return _NUMBERED.sub("#", text)


def _kept(literal: Kept | tuple[Kept, ...]) -> Kept | tuple[Kept, ...]:
    return tuple(map(cut, literal)) if isinstance(literal, tuple) else cut(literal)


def runs_of(statements: Iterable[Executed]) -> list[Run]:
    """Return the statements of a transaction with repetitions joined.

    A statement that repeats in a row is a run, and a loop over several statements is a run of each of them.
    """
    runs: list[Run] = []
    texts: set[str] = set()
    for statement in statements:
        text, known, rows, more_rows = statement.fingerprint
        values: Literals = known
        if "?" in text:
            text, values = _with_unseen(text, values)
        # A row has no values of what follows the rows, such as ON DUPLICATE KEY UPDATE: the first row's stand for all.
        literals = [values, *(row + values[len(row) :] for row in more_rows)]
        run = Run(text, literals, 1, statement.rows_sent, rows, rows, rows)
        if runs and runs[-1].text == text:
            runs[-1].add(run)
            continue
        if len(texts) < len(runs):
            _join_loop(runs)
        texts.add(text)
        runs.append(run)
    if len(texts) < len(runs):
        _join_loop(runs)
    return runs


def _with_unseen(text: str, values: Literals) -> tuple[str, Literals]:
    """Return a text with a %s for each placeholder whose value the source does not show, and all values."""
    known = iter(values)
    joined: list[Kept | tuple[Kept, ...]] = []

    def mark(found: re.Match[str]) -> str:
        if found[0] == "%s":
            joined.append(next(known))
        elif found[0] == "?":
            joined.append(UNSEEN)
        elif found[1]:
            joined.append((UNSEEN,) * found[0].count("?"))
        return f"{found[1]}%s" if found[1] else "%s" if found[0] == "?" else found[0]

    return _PLACEHOLDER.sub(mark, text), tuple(joined)


def _join_loop(runs: list[Run]) -> None:
    """Join the last statements with the same statements before them, while there are any: the body of a loop."""
    body = 2
    while body <= min(LONGEST_BLOCK, len(runs) // 2):
        before, last = runs[-2 * body : -body], runs[-body:]
        if [run.text for run in before] == [run.text for run in last]:
            del runs[-body:]
            for run, again in zip(before, last, strict=True):
                run.add(again)
            body = 2
        else:
            body += 1
