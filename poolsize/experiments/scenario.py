"""Scenario: a published experiment as the options of a sweep, with the claims that were made from it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib import resources

from poolsize.errors import BadInput, did_you_mean
from poolsize.recordings.published import PublishedCurve, published_curves
from poolsize.runs.plan import SweepPlan
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.planning import plan_for
from poolsize.toml_file import record

ALL_KINDS = "all transactions"
"""The kind of a claim about the latency of a workload's transactions, whatever their kind."""
FILES = resources.files("poolsize.experiments") / "published"


class Direction(StrEnum):
    """How a throughput or a latency changes from one measurement to another."""

    RISES = "rises"
    SAME = "same"
    FALLS = "falls"
    UNCLEAR = "unclear"


class Side(StrEnum):
    """One of two sweeps that are compared."""

    FIRST = "first"
    OTHER = "other"


@dataclass(frozen=True)
class Claim:
    """A statement of the source about two throughputs, or about two latencies.

    text: the statement. sizes: their pool sizes. sides: the sweeps that measure them. expects: how the value changes
    from the first to the second by the source; None where the published curves show it. published: names of those
    curves; None for all of the scenario's. full_sizes: the pool sizes at the published scale, where they differ.
    p95_of: the kind of transaction whose p95 total times are compared, or ALL_KINDS; None for throughput.
    """

    text: str
    sizes: tuple[int, int]
    sides: tuple[Side, Side] = (Side.FIRST, Side.FIRST)
    expects: Direction | None = None
    published: tuple[str, ...] | None = None
    full_sizes: tuple[int, int] | None = None
    p95_of: str | None = None


@dataclass(frozen=True)
class Scenario:
    """A published experiment.

    question: what the experiment answers. source: who published it. options: field of SweepOptions -> its text or
    texts, for a quick run. claims: what the source says of the throughput. published: names of the published curves.
    full: the fields of the options that differ at the published scale. sides: what distinguishes two sweeps that are
    compared; empty for one sweep. other: the fields of the options in which the second sweep differs, which follows the
    first; empty where two servers are measured in turn. counters: counter of the server -> its name in the table.
    limit_shares: short wait limits, each measured in a run of its own after the scenario's; as shares of the mean wait
    time at the smallest pool size. survey: whether pools are timed in place of a sweep. predicts_full: whether the
    closed network of a quick run predicts the published scale.
    """

    name: str
    question: str
    source: str
    options: Mapping[str, str | tuple[str, ...]]
    claims: tuple[Claim, ...] = ()
    published: tuple[str, ...] = ()
    full: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    sides: tuple[str, ...] = ()
    other: Mapping[str, str] = field(default_factory=dict)
    counters: Mapping[str, str] = field(default_factory=dict)
    limit_shares: tuple[float, ...] = ()
    survey: bool = False
    predicts_full: bool = False

    def at_full_scale(self) -> "Scenario":
        """Return the scenario at the published scale."""
        claims = tuple(replace(claim, sizes=claim.full_sizes or claim.sizes) for claim in self.claims)
        return replace(self, options={**self.options, **self.full}, claims=claims, predicts_full=False)

    def sweep_options(self, **changed: str) -> SweepOptions:
        """Return the options of the sweep, or of a sweep in which these fields differ."""
        return SweepOptions.parse({**self.options, **changed})

    @property
    def sweeps(self) -> int:
        """The number of sweeps."""
        return max(1, len(self.sides)) + len(self.limit_shares)

    @property
    def compares_servers(self) -> bool:
        """Whether two servers are measured in turn."""
        return bool(self.sides) and not self.other

    def curves_of(self, claim: Claim | None = None) -> tuple[PublishedCurve, ...]:
        """Return the published curves, or those that a claim rests on."""
        names = self.published if claim is None or claim.published is None else claim.published
        return tuple(published_curves()[name] for name in names)


def plan_of(options: SweepOptions) -> SweepPlan:
    """Return the plan of a sweep of a scenario."""
    return plan_for(options, str(options.workload))


def scenario_names() -> tuple[str, ...]:
    """Return the names of all scenarios, in alphabetical order."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in FILES.iterdir() if file.name.endswith(".toml")))


def read_scenario(name: str) -> Scenario:
    """Return a scenario by its name. Raises BadInput for an unknown name."""
    if name not in scenario_names():
        way_out = did_you_mean(name, scenario_names()) or f": the scenarios are {', '.join(scenario_names())}"
        raise BadInput(f"{name} is not a scenario{way_out}")
    table = tomllib.loads(FILES.joinpath(f"{name}.toml").read_text("utf-8"))
    return record(f"{name}.toml", Scenario, {"name": name, **table})
