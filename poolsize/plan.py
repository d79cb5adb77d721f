"""SweepPlan: what a sweep was asked to do."""

import random
from dataclasses import dataclass

from poolsize.errors import BadInput


@dataclass(frozen=True)
class PlannedStep:
    """One pool size to be measured once: its place in the run (from 0), its size, its repeat (from 0)."""

    order: int
    pool_size: int
    repeat: int


@dataclass(frozen=True)
class SweepPlan:
    """What was asked for.

    sizes: pool sizes, ascending. users: concurrent callers in a closed loop.
    workload: the locustfile's name, without its folder and ending.
    think_time_ms: mean pause of a caller between transactions, exponentially distributed.
    warm_up_seconds: length of each step's beginning that is kept but not counted.
    step_seconds: length of the counted rest. repeats: how often each size is measured.
    seed: fixes the random order of the steps within each repeat.
    """

    sizes: tuple[int, ...]
    users: int
    workload: str
    think_time_ms: float = 0.0
    warm_up_seconds: int = 3
    step_seconds: int = 15
    repeats: int = 1
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise BadInput for a plan that can't be carried out."""
        for value, option, least in (
            (self.users, "--users", 1),
            (self.step_seconds, "--step-time", 1),
            (self.warm_up_seconds, "--warm-up", 0),
            (self.repeats, "--repeats", 1),
            (self.think_time_ms, "--think-time", 0),
        ):
            if value < least:
                raise BadInput(f"{option} {value:g}: give at least {least}")
        if not self.sizes:
            raise BadInput("--pool-sizes is empty: name at least one, e.g. --pool-sizes 1,4,8,16")
        if min(self.sizes) < 1:
            raise BadInput(f"--pool-sizes {min(self.sizes)}: a pool has at least 1 connection")

    def steps(self) -> tuple[PlannedStep, ...]:
        """Every step in the order of measuring: each repeat has all sizes, shuffled by the seed.

        The shuffle keeps a drift of the machine (heat, a neighbour's load) from looking like a curve.
        """
        shuffle = random.Random(self.seed)
        planned = []
        for repeat in range(self.repeats):
            sizes = list(self.sizes)
            shuffle.shuffle(sizes)
            planned += [(size, repeat) for size in sizes]
        return tuple(PlannedStep(order, size, repeat) for order, (size, repeat) in enumerate(planned))


def parse_sizes(text: str) -> tuple[int, ...]:
    """Read "1,4,8,16" as ascending sizes without repetition; raises BadInput naming what is no size."""
    sizes = set()
    for part in map(str.strip, text.split(",")):
        if not part.isdecimal() or int(part) < 1:
            raise BadInput(
                f"--pool-sizes {text}: {part or 'an empty place'!r} is not a pool size; "
                "give whole numbers from 1, separated by commas, e.g. 1,4,8,16"
            )
        sizes.add(int(part))
    return tuple(sorted(sizes))
