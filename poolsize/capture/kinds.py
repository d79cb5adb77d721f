"""Transactions -> kinds of transactions: counted in bounded memory, with a random sample of the literals of each."""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isnan
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

Literals = tuple[Kept | tuple[Kept, ...], ...]
"""Of an execution, or of a further row of an INSERT: one for each parameter of the text, a tuple for a list."""
Key = tuple[bool, Ends, tuple[str, ...]]


@dataclass(slots=True)
class Span:
    """The lowest, the highest and the sum of counts."""

    low: int = 10**9
    high: int = 0
    total: int = 0

    def add(self, other: "Span") -> None:
        """Add other counts."""
        self.total += other.total
        if other.low < self.low or other.high > self.high:  # rarely; this is called for each statement of a log
            self.low, self.high = min(self.low, other.low), max(self.high, other.high)


@dataclass(slots=True)
class StatementTally:
    """The executions of a statement of a kind. repeats: in each transaction. rows: of an INSERT.

    rows_sent: of all executions whose result is known, which are counted.
    """

    repeats: Span = field(default_factory=Span)
    rows: Span = field(default_factory=Span)
    rows_sent: int = 0
    known_results: int = 0

    def add(self, other: "StatementTally") -> None:
        """Count other executions in."""
        self.repeats.add(other.repeats)
        self.rows.add(other.rows)
        self.rows_sent += other.rows_sent
        self.known_results += other.known_results


@dataclass(slots=True)
class Run:
    """A statement's executions in a row, in one transaction, or those of a loop."""

    text: str
    literals: list[Literals]
    tally: StatementTally

    def add(self, other: "Run") -> None:
        """Add executions of the same statement in the same transaction."""
        executions = self.tally.repeats.total + other.tally.repeats.total
        self.tally.add(other.tally)
        self.tally.repeats = Span(executions, executions, executions)
        if len(self.literals) < MOST_EXECUTIONS_KEPT:
            self.literals += other.literals


class Sample(NamedTuple):
    """A transaction whose literals are kept. number: its place in time. started: nan where unknown.

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

    def add(
        self, statements: Iterable[StatementTally], count: int, executions: int, seconds: float, held: float
    ) -> None:
        """Count transactions in, with as many statements."""
        self.count += count
        self.executions += executions
        self.seconds += seconds
        self.held_seconds += held
        for statement, more in zip(self.statements, statements, strict=True):
            statement.add(more)


class KindCounter:
    """Counts transactions by kind. All literals that it keeps are a random sample, and never more than its limits.

    seconds: of all transactions. cut_off: transactions that are not whole.
    """

    def __init__(self) -> None:
        self.kinds: dict[Key, KindTally] = {}
        self.transactions = self.statements = self.cut_off = self.thinks = 0
        self.seconds = self.think_seconds = 0.0
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
        if tally is not None:
            held = transaction.ended - transaction.started
            tally.add([run.tally for run in runs], 1, len(transaction.statements), seconds, held)
            self._sample(tally, transaction.started, key[2], runs)

    def _new_kind(self, key: Key, runs: Sequence[Run]) -> KindTally | None:
        if sum(len(run.literals[0]) for run in runs) > MOST_PARAMETERS or sum(map(len, key[2])) > LONGEST_STATEMENT:
            return None
        if len(self.kinds) >= MOST_TRACKED:
            self._give_up_rare()
        cells = Sample(0, 0.0, key[2], tuple(tuple(run.literals) for run in runs)).cells
        capacity = max(LEAST_TRANSACTIONS, CELLS_OF_KIND // cells)
        tally = self.kinds[key] = KindTally(key[0], key[1], [StatementTally() for _ in runs], capacity)
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
            for other in map(self.kinds.pop, others):
                merged.add(other.statements, other.count, other.executions, other.seconds, other.held_seconds)
                merged.samples += other.samples
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
            for each in self.kinds.values():
                each.capacity = max(1, min(each.capacity, len(each.samples)) // 2)
                each.samples = self._random.sample(each.samples, min(each.capacity, len(each.samples)))
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
        run = _run_of(statement)
        if runs and runs[-1].text == run.text:
            runs[-1].add(run)
            continue
        if len(texts) < len(runs):
            _join_loop(runs)
        texts.add(run.text)
        runs.append(run)
    if len(texts) < len(runs):
        _join_loop(runs)
    return runs


def _run_of(statement: Executed) -> Run:
    text, known, rows, more_rows = statement.fingerprint
    values: Literals = known
    if "?" in text:
        text, values = _with_unseen(text, values)
    # A row has no values of what follows the rows, such as ON DUPLICATE KEY UPDATE: the first row's stand for all.
    literals = [values, *(row + values[len(row) :] for row in more_rows)]
    is_known = statement.rows_sent >= 0
    sent = statement.rows_sent if is_known else 0
    return Run(text, literals, StatementTally(Span(1, 1, 1), Span(rows, rows, rows), sent, is_known))


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
