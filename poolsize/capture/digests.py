"""What a server counted of each kind of statement in a period: weights for a workload that was seen in part."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.capture.workload import CapturedWorkload, TransactionKind

StatementKey = tuple[str, ...]
ROUNDS = 200
"""The most of the weights' correction."""
KEY_WORDS = 40
"""A server cuts the text of a digest; so many words of its beginning are compared."""
LEAST_WEIGHT = 1

_NOT_WORDS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|/\*.*?\*/|%s|\bnull\b", re.IGNORECASE | re.DOTALL)
_VARIANTS = frozenset((
    "char", "character", "curdate", "current_date", "current_time", "current_timestamp", "curtime", "database",
    "distinct", "distinctrow", "false", "int", "integer", "localtime", "localtimestamp", "mid", "now", "regexp",
    "rlike", "schema", "session_user", "std", "stddev", "substr", "substring", "system_user", "true", "user",
))  # fmt: skip
"""Literals, and words for which a digest has another word of the same meaning."""
_DIGITS = re.compile(r"\d+")
_WORDS = re.compile(r"[^\W\d][\w$]*")
_ENDS = re.compile(
    r"(BEGIN|START TRANSACTION|XA|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET|USE|PREPARE|DEALLOCATE)\b"
    r"|SELECT @@(?!.*\bFROM\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Statements around those of a transaction, which a workload does not count, or under other names, as savepoints."""


@dataclass(frozen=True)
class Digest:
    """A kind of statement in a period. text: with ? for its literals. seconds: of all executions together."""

    text: str
    count: int
    seconds: float


def statement_key(text: str) -> StatementKey:
    """Return the words that a digest's text shares with a workload's statement: the names and the SQL words.

    Names are without digits: a workload's kind may stand for transactions on several tables of the same form.
    """
    words = _WORDS.findall(_NOT_WORDS.sub(" ", text).lower())
    return tuple([_DIGITS.sub("", word) for word in words if word not in _VARIANTS][:KEY_WORDS])


def weighted(workload: CapturedWorkload, digests: Iterable[Digest], seconds: float) -> CapturedWorkload:
    """Return a workload whose kinds are weighted so that their statements add up to the server's counts.

    seconds: the period of the digests. Kinds may share statements. The weights follow from the maximum-likelihood
    iteration of Richardson (1972) and Lucy (1974): each weight is multiplied by the mean, over the kind's statements,
    of counted over expected. The other shares are those of the statements that the kinds do not explain.
    """
    counted: defaultdict[StatementKey, float] = defaultdict(float)
    times: defaultdict[StatementKey, float] = defaultdict(float)
    for digest in digests:
        if not _ENDS.match(digest.text):
            counted[statement_key(digest.text)] += digest.count
            times[statement_key(digest.text)] += digest.seconds
    counts, seconds_of = (np.array(list(amounts.values())) for amounts in (counted, times))
    contents = _contents(workload.kinds, list(counted))
    weights = _weights(np.array([float(kind.weight) for kind in workload.kinds]), contents, counts)
    covered = np.minimum(1.0, weights @ contents / counts)
    kinds = [
        replace(kind, weight=round(weight))
        for kind, weight in zip(workload.kinds, weights, strict=True)
        if weight >= LEAST_WEIGHT
    ]
    share = _share(counts, covered)
    return replace(
        workload,
        kinds=tuple(sorted(kinds, key=lambda kind: -kind.weight * (kind.mean_ms or 0))),
        other_share_of_statements=1 - share,
        other_share_of_time=None if workload.other_share_of_time is None else 1 - _share(seconds_of, covered),
        arrival_rate=float(weights.sum()) / seconds if share and seconds else workload.arrival_rate,
    )


def _contents(kinds: Sequence[TransactionKind], keys: Sequence[StatementKey]) -> Vector:
    """Return how often a transaction of each kind runs each statement that the server counts: kinds x statements."""
    place_of = {key: place for place, key in enumerate(keys)}
    contents = np.zeros((len(kinds), len(keys)))
    for of_kind, kind in zip(contents, kinds, strict=True):
        for statement in kind.statements:
            if (place := place_of.get(statement_key(statement.text))) is not None:
                of_kind[place] += statement.repeats_mean
    return contents


def _weights(weights: Vector, contents: Vector, counts: Vector) -> Vector:
    """Return the weights with which the kinds explain the counts best. A kind that is not counted keeps its share."""
    is_counted = contents.any(axis=1)
    shares = contents[is_counted] / contents[is_counted].sum(axis=1, keepdims=True)
    for _ in range(ROUNDS if is_counted.any() else 0):
        expected = weights @ contents
        factors = shares @ np.divide(counts, expected, out=np.zeros_like(counts), where=expected > 0)
        changes = np.full(len(weights), factors.mean())
        changes[is_counted] = factors
        weights = weights * changes
        if np.allclose(factors, 1.0, rtol=1e-4, atol=0):
            break
    return weights


def _share(amounts: Vector, covered: Vector) -> float:
    """Return the share of the amounts that is covered, at most 1 in spite of rounding. covered: the share of each."""
    return min(1.0, float(amounts @ covered / amounts.sum())) if amounts.any() else 1.0
