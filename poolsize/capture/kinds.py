"""Transactions -> kinds of transactions: counted in bounded memory, with a random sample of the literals of each."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isnan
from typing import NamedTuple

from poolsize.capture.literals import UNSEEN, Kept, cut
from poolsize.capture.transactions import Ends, Executed, Transaction
from poolsize.capture.workload import LONGEST_STATEMENT, MOST_PARAMETERS, MOST_STATEMENTS

MOST_TRACKED = 4_000
"""Kinds that are counted at the same time; the rarest half is given up when there are more."""
MOST_EXECUTIONS_KEPT = 50
"""Executions of a repeated statement in a transaction whose literals are kept."""
CELLS_OF_KIND, CELLS_OF_ALL = 300_000, 2_000_000
"""Sizes of the samples: literals, and the tuples that hold them; a cell takes about 70 bytes."""
LEAST_TRANSACTIONS = 20
"""Transactions for whose literals a kind has room at first, and from which on references are searched."""
LONGEST_BLOCK = 6
"""Statements of a loop's body."""
SEED = 41
LEAST_FAMILY = 16
"""Kinds that differ in the numbers of their tables, from which on these become a single kind."""
_NUMBERED = re.compile(r"(?<=[A-Za-z_])\d+\b")
_PLACEHOLDER = re.compile(r"`[^`]*`|%%|%s|(\bIN )\(\?(?: ?, ?\?)*\)|\?", re.IGNORECASE)

Literals = tuple[Kept | tuple[Kept, ...], ...]
"""Of an execution, or of a further row of an INSERT: a value for each parameter of the text, a tuple for a list."""
Key = tuple[bool, Ends, tuple[str, ...]]


@dataclass(slots=True)
class StatementTally:
    """The executions of a statement of a kind.

    repeats: executions in a transaction -> transactions. rows: of an INSERT -> executions. rows_sent: of all executions
    whose result is known, which are counted.
    """

    repeats: Counter[int] = field(default_factory=Counter)
    rows: Counter[int] = field(default_factory=Counter)
    rows_sent: int = 0
    known_results: int = 0

    def add(self, executions: Sequence[Executed]) -> None:
        """Count the executions in a transaction."""
        self.repeats[len(executions)] += 1
        for fingerprint, _, _, rows_sent in executions:
            self.rows[fingerprint.rows] += 1
            if rows_sent >= 0:
                self.rows_sent += rows_sent
                self.known_results += 1

    def merge(self, other: "StatementTally") -> None:
        """Count other executions in."""
        self.repeats.update(other.repeats)
        self.rows.update(other.rows)
        self.rows_sent += other.rows_sent
        self.known_results += other.known_results


class Run(NamedTuple):
    """The executions of a statement, successive or in a loop, in a transaction. text: with %s as each placeholder."""

    text: str
    executions: list[Executed]

    @property
    def literals(self) -> tuple[Literals, ...]:
        """The literals that are kept: of each execution and each row."""
        kept: list[Literals] = []
        for fingerprint, *_ in self.executions:
            if len(kept) >= MOST_EXECUTIONS_KEPT:
                break
            text, known, _, more_rows = fingerprint
            literals: Literals = _with_unseen(text, known) if "?" in text else known
            values = tuple(map(_kept, literals))
            # A row has no values of an ON DUPLICATE KEY UPDATE behind the rows: the first row's values stand for all.
            kept += values, *((*map(_kept, row), *values[len(row) :]) for row in more_rows)
        return tuple(kept)


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

    held_seconds: of all transactions, nan where times are unknown. capacity: the most samples.
    """

    is_explicit: bool
    ends: Ends
    statements: list[StatementTally]
    capacity: int
    count: int = 0
    seconds: float = 0.0
    held_seconds: float = 0.0
    samples: list[Sample] = field(default_factory=list)

    @property
    def executions(self) -> int:
        """The statements of all transactions."""
        return sum(statement.rows.total() for statement in self.statements)

    def add(self, transaction: Transaction, runs: Iterable[Run]) -> None:
        """Count a transaction in. runs: of its statements."""
        self.count += 1
        self.seconds += _known(transaction.seconds)
        self.held_seconds += transaction.ended - transaction.started
        for statement, run in zip(self.statements, runs, strict=True):
            statement.add(run.executions)

    def merge(self, other: "KindTally") -> None:
        """Count the transactions of another kind in."""
        self.count += other.count
        self.seconds += other.seconds
        self.held_seconds += other.held_seconds
        self.samples += other.samples
        for statement, more in zip(self.statements, other.statements, strict=True):
            statement.merge(more)


class KindCounter:
    """Counts transactions by kind. The literals are a random sample, within limits of memory.

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
        self.transactions += 1
        self.statements += len(transaction.statements)
        self.seconds += _known(transaction.seconds)
        self.cut_off += not transaction.is_whole
        if not isnan(transaction.after_previous):
            self.think_seconds += max(transaction.after_previous, -1.0)  # a source may round times to seconds
            self.thinks += 1
        runs = runs_of(transaction.statements) if transaction.is_whole else []
        if not 0 < len(runs) <= MOST_STATEMENTS:
            return
        key = (transaction.is_explicit, transaction.ends, tuple([run.text for run in runs]))
        tally = self.kinds.get(key) or self.kinds.get(family_of(key)) or self._new_kind(key, runs)
        if tally is not None:
            tally.add(transaction, runs)
            self._sample(tally, transaction.started, key[2], runs)

    def _new_kind(self, key: Key, runs: Sequence[Run]) -> KindTally | None:
        texts = key[2]
        if sum(text.count("%s") for text in texts) > MOST_PARAMETERS or sum(map(len, texts)) > LONGEST_STATEMENT:
            return None
        if len(self.kinds) >= MOST_TRACKED:
            self._give_up_rare()
        cells = Sample(0, 0.0, texts, tuple(run.literals for run in runs)).cells
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
                merged.merge(other)
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
        literals = tuple([run.literals for run in runs])
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
    """Return a key that is the same for kinds that differ in the numbers at the ends of names only."""
    return key[0], key[1], tuple(map(_without_numbers, key[2]))


@lru_cache(5_000)
def _without_numbers(text: str) -> str:
    return _NUMBERED.sub("#", text)


def _known(seconds: float) -> float:
    return 0.0 if isnan(seconds) else seconds


def _kept(literal: Kept | tuple[Kept, ...]) -> Kept | tuple[Kept, ...]:
    return tuple(map(cut, literal)) if isinstance(literal, tuple) else cut(literal)


def runs_of(statements: Iterable[Executed]) -> list[Run]:
    """Return the statements of a transaction with repetitions joined.

    A statement that repeats in a row is a run, and a loop over several statements is a run of each of them.
    """
    runs: list[Run] = []
    texts: set[str] = set()
    for statement in statements:
        text = statement.fingerprint.text
        if "?" in text:
            text = _with_marks(text)
        if runs and runs[-1].text == text:
            runs[-1].executions.append(statement)
            continue
        texts.add(text)
        runs.append(Run(text, [statement]))
        if len(texts) < len(runs):
            _join_loop(runs)
    return runs


@lru_cache(5_000)
def _with_marks(text: str) -> str:
    """Return a text with a %s for each placeholder whose value the source does not show."""
    return _PLACEHOLDER.sub(lambda found: f"{found[1]}%s" if found[1] else "%s" if found[0] == "?" else found[0], text)


def _with_unseen(text: str, values: Literals) -> Literals:
    """Return the values of a text with placeholders, with UNSEEN for a value that the source does not show."""
    known = iter(values)
    joined: list[Kept | tuple[Kept, ...]] = []
    for found in _PLACEHOLDER.finditer(text):
        if found[0] == "%s":
            joined.append(next(known))
        elif found[0] == "?":
            joined.append(UNSEEN)
        elif found[1]:
            joined.append((UNSEEN,) * found[0].count("?"))
    return tuple(joined)


def _join_loop(runs: list[Run]) -> None:
    """Join the last statements with the same statements before them, while there are any: the body of a loop."""
    body = 2
    while body <= min(LONGEST_BLOCK, len(runs) // 2):
        before, last = runs[-2 * body : -body], runs[-body:]
        if [run.text for run in before] == [run.text for run in last]:
            del runs[-body:]
            for run, again in zip(before, last, strict=True):
                run.executions.extend(again.executions)
            body = 2
        else:
            body += 1
