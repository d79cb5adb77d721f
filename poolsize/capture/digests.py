"""What a server counted of each kind of statement in a period: weights for a workload that was seen in part."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import TypeAlias

from poolsize.capture.workload import CapturedWorkload, TransactionKind

StatementKey = tuple[str, ...]
Amounts: TypeAlias = defaultdict[StatementKey, float]
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
    counted: Amounts = defaultdict(float)
    times: Amounts = defaultdict(float)
    for digest in digests:
        if not _ENDS.match(digest.text):
            counted[statement_key(digest.text)] += digest.count
            times[statement_key(digest.text)] += digest.seconds
    contents = [_contents(kind, counted) for kind in workload.kinds]
    weights = _weights([float(kind.weight) for kind in workload.kinds], contents, counted)
    expected = _expected(weights, contents)
    covered = {key: min(1.0, expected[key] / count) for key, count in counted.items() if key in expected}
    kinds = [
        replace(kind, weight=round(weight))
        for kind, weight in zip(workload.kinds, weights, strict=True)
        if weight >= LEAST_WEIGHT
    ]
    share = _share(counted, covered)
    return replace(
        workload,
        kinds=tuple(sorted(kinds, key=lambda kind: -kind.weight * (kind.mean_ms or 0))),
        other_share_of_statements=1 - share,
        other_share_of_time=None if workload.other_share_of_time is None else 1 - _share(times, covered),
        arrival_rate=sum(weights) / seconds if share and seconds else workload.arrival_rate,
    )


def _contents(kind: TransactionKind, counted: Mapping[StatementKey, float]) -> Amounts:
    """Return how often a transaction of a kind runs each statement that the server counts."""
    contents: Amounts = defaultdict(float)
    for statement in kind.statements:
        if (key := statement_key(statement.text)) in counted:
            contents[key] += statement.repeats_mean
    return contents


def _expected(weights: Sequence[float], contents: Sequence[Amounts]) -> Amounts:
    expected: Amounts = defaultdict(float)
    for weight, content in zip(weights, contents, strict=True):
        for key, times in content.items():
            expected[key] += weight * times
    return expected


def _weights(
    weights: Sequence[float], contents: Sequence[Amounts], counted: Mapping[StatementKey, float]
) -> Sequence[float]:
    """Return the weights with which the kinds explain the counts best. A kind that is not counted keeps its share."""
    for _ in range(ROUNDS):
        expected = _expected(weights, contents)
        factors = [
            sum(times * counted[key] / expected[key] for key, times in content.items()) / sum(content.values())
            if content else None
            for content in contents
        ]  # fmt: skip
        known = [factor for factor in factors if factor is not None]
        mean = sum(known) / len(known) if known else 1.0
        weights = [
            weight * (mean if factor is None else factor) for weight, factor in zip(weights, factors, strict=True)
        ]
        if all(isclose(factor, 1.0, rel_tol=1e-4) for factor in known):
            break
    return weights


def _share(amounts: Mapping[StatementKey, float], covered: Mapping[StatementKey, float]) -> float:
    """Return the share of the amounts that is covered. covered: the share of each amount."""
    total = sum(amounts.values())
    return sum(amount * covered.get(key, 0.0) for key, amount in amounts.items()) / total if total else 1.0
