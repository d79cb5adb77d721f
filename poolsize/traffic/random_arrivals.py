"""A pool whose requests arrive at random, at one rate or in bursts, with usage times of two phases: MMPP/PH/k, exactly.

The number of requests in the pool, the phases of those that use a connection and the state of the arrivals form a
quasi-birth-death process (Neuts 1981; Latouche and Ramaswami 1999). While requests wait, the age of the first of them
is a fluid: it rises with time, and falls by the time between two arrivals when a connection is handed over (Asmussen
1995). So the probability of a longer wait is a matrix exponential, whose matrix follows from G: the probabilities of
the states in which the process first has one request fewer.

With a wait limit, the first request leaves when its age reaches the limit, and the fluid stays below it. The states in
which it returns from an age then obey a matrix Riccati equation, which is solved from the limit down.

Times are in mean usage times, rates per mean usage time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, log, log2

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.traffic.usage_phases import UsagePhases, ending, starting, staying

CONVERGED = 1e-14
MOST_ITERATIONS = 60
"""Of the logarithmic reduction. Each counts twice as many levels as the one before, so 60 are never reached."""
RAREST = 1e-5
"""The probability of a longer wait down to which a distribution is computed, of a request that waits."""
FIRST_TIME = 0.01
"""The first wait time of a distribution without a limit, in times between two ends of a usage."""
DOUBLINGS = 4
STEPS = 2**DOUBLINGS
"""Times between a time and its double."""
MOST_OCTAVES = 60
SMALL_NORM, TERMS = 0.1, 10
"""Norm of a matrix from which TERMS terms of its exponential's series are exact."""
FINEST = 0.05
"""The first step of the ages up to a wait limit, in times between two ends of a usage, at most."""


@dataclass(frozen=True)
class Arrivals:
    """Requests that arrive at random, at a rate that changes at random (a Markov-modulated Poisson process).

    rates: one for each state. changes: the generator of the states. weights: how much a request of each state counts.
    """

    rates: Vector
    changes: Vector
    weights: Vector


def steady(rate: float) -> Arrivals:
    """Return arrivals at one rate (Poisson)."""
    return Arrivals(np.array([rate]), np.zeros((1, 1)), np.ones(1))


def in_bursts(
    busy: float, calm: float, busy_time: float, calm_time: float, weights: tuple[float, float] = (1.0, 1.0)
) -> Arrivals:
    """Return arrivals at two rates, whose states last exponential times with these means."""
    changes = np.array([[-1 / busy_time, 1 / busy_time], [1 / calm_time, -1 / calm_time]])
    return Arrivals(np.array([busy, calm]), changes, np.array(weights))


@dataclass(frozen=True)
class Waits:
    """Wait times of requests.

    times: wait times, ascending from 0. longer: probabilities that a request waits longer. mean: of the wait times of
    all requests. timed_out: share of the requests that leave at a wait limit, which is then the last of the times.
    """

    times: Vector
    longer: Vector
    mean: float
    timed_out: float = 0.0

    def quantile(self, probability: float) -> float:
        """Return the wait time that this share of the requests does not exceed."""
        beyond = 1 - probability
        if self.longer[0] <= beyond:
            return 0.0
        if self.timed_out > beyond:
            return float(self.times[-1])
        least = RAREST / 100 * self.longer[0]
        return float(np.interp(-log(beyond), -np.log(np.maximum(self.longer, least)), self.times))

    def likelier(self, times: float, faster: float) -> "Waits":
        """Return the waits where so many times as many requests wait, for times that are shorter by a factor."""
        longer = np.minimum(1.0, self.longer * times)
        return Waits(self.times / faster, longer, self.mean / faster * times, min(1.0, self.timed_out * times))


def waits(
    arrivals: Arrivals, phases: UsagePhases, pool_size: int, limit: float = inf, speeds: Vector | None = None
) -> Waits:
    """Return the waits of requests of which none waits longer than the limit.

    Without a limit, the mean rate of the arrivals is below the pool size. speeds: at which phases go on with 0, 1, ...
    connections in use, 1 with all of them; one row for each state of the arrivals or for all. None for 1.
    """
    rows = np.broadcast_to(1.0 if speeds is None else speeds, (len(arrivals.rates), pool_size + 1))
    queue = _Queue(arrivals, phases, rows, pool_size)
    return _unlimited(queue) if limit == inf else _limited(queue, limit)


@dataclass(frozen=True)
class _Queue:
    """The rates between states of the arrivals and of the connections in use. speeds: as in waits, of each state."""

    arrivals: Arrivals
    phases: UsagePhases
    speeds: Vector
    pool_size: int

    def staying(self, in_use: int) -> Vector:
        """Return the rates of the changes of phase, those of the usages that end on the diagonal too."""
        return kronecker(np.diag(self.speeds[:, in_use]), staying(self.phases, in_use))

    def ending(self, in_use: int) -> Vector:
        """Return the rates of the changes to one connection fewer in use."""
        return kronecker(np.diag(self.speeds[:, in_use]), ending(self.phases, in_use))

    def starting(self, in_use: int) -> Vector:
        """Return the rates of the arrivals that find a free connection."""
        return kronecker(np.diag(self.arrivals.rates), starting(self.phases, in_use))

    def changing(self, in_use: int) -> Vector:
        """Return the rates of the changes of the arrivals' state."""
        return kronecker(self.arrivals.changes, np.eye(len(self.phases.in_first(in_use))))

    @cached_property
    def handing_over(self) -> Vector:
        """The rates of the changes in which a usage ends and the next one starts on its connection."""
        of_phases = ending(self.phases, self.pool_size) @ starting(self.phases, self.pool_size - 1)
        return kronecker(np.diag(self.speeds[:, self.pool_size]), of_phases)

    @cached_property
    def arriving(self) -> Vector:
        """The rates of the arrivals that wait."""
        return kronecker(np.diag(self.arrivals.rates), np.eye(len(self.phases.in_first(self.pool_size))))

    @cached_property
    def no_arrival(self) -> Vector:
        return self.changing(self.pool_size) - self.arriving

    @property
    def weights(self) -> Vector:
        """How much a request counts whose arrival found this state of the arrivals."""
        return np.repeat(self.arrivals.weights, len(self.phases.in_first(self.pool_size)))

    def arriving_in(self, level: Vector) -> float:
        """Return the weighted arrivals in states with these probabilities."""
        arrivals = self.arrivals
        return float(level.reshape(len(arrivals.rates), -1).sum(axis=1) @ (arrivals.rates * arrivals.weights))


def _unlimited(queue: _Queue) -> Waits:
    staying_full = queue.staying(queue.pool_size)
    returning = first_passages(queue.arriving, staying_full + queue.no_arrival, queue.handing_over)
    *free, full = _levels(queue, returning)
    ageing = staying_full + returning @ queue.arriving
    first = full @ queue.arriving
    served = np.linalg.solve(-ageing, queue.handing_over.sum(axis=1) * queue.weights)
    time, octave = FIRST_TIME / queue.pool_size / STEPS, 0
    times, longer = [np.zeros(1)], [np.array([first @ served])]
    total = sum(map(queue.arriving_in, free)) + float(longer[0][0])
    state, powers = first, [exponential(ageing * time)]
    while longer[-1][-1] > RAREST * longer[0][0] and octave < MOST_OCTAVES:
        states = (state @ powers[0])[None]
        for doubling in range(DOUBLINGS):
            if doubling == len(powers):
                powers.append(powers[-1] @ powers[-1])
            states = np.concatenate([states, states @ powers[doubling]])
        state = states[-1]
        times.append(times[-1][-1] + time * np.arange(1, STEPS + 1))
        longer.append(states @ served)
        if octave > 0:
            powers, time = powers[1:], 2 * time
        octave += 1
    mean = float(first @ np.linalg.solve(-ageing, served))
    return Waits(np.concatenate(times), np.maximum(np.concatenate(longer), 0.0) / total, mean / total)


def _limited(queue: _Queue, limit: float) -> Waits:
    octaves = max(1, ceil(log2(limit * queue.pool_size / 2 / STEPS / FINEST + 1)))
    first_step = limit / 2 / STEPS / (2**octaves - 1)
    halves = np.repeat(np.arange(octaves), STEPS)
    places = np.concatenate([halves, halves[::-1]])  # the queue changes fast at both ends
    steps: Vector = first_step * 2.0**places
    crossings = [_crossed(queue, first_step)]
    while len(crossings) < octaves:
        crossings.append(_twice(*crossings[-1]))
    identity = returning = np.eye(len(crossings[0][0]))
    older = []
    for through, turned, home, again in (crossings[place] for place in places):
        older.append(through @ np.linalg.inv(identity - returning @ again))
        returning = turned + older[-1] @ returning @ home
    *free, full = _levels(queue, returning)
    states = [full @ queue.arriving]
    for ageing in reversed(older):
        states.append(states[-1] @ ageing)
    served = _integrals(np.array(states) @ (queue.handing_over.sum(axis=1) * queue.weights), steps)
    left = float(states[-1] @ queue.weights)
    longer = served[-1] - served + left
    total = sum(map(queue.arriving_in, free)) + longer[0]
    mean = float(_integrals(longer, steps)[-1]) / total
    ages = np.concatenate([[0.0], np.cumsum(steps[:-1]), [limit]])
    return Waits(ages, longer / total, mean, left / total)


Crossing = tuple[Vector, Vector, Vector, Vector]
"""The states after a fluid crosses a step of ages upwards, turns back in it, crosses it downwards, turns up again."""


def _crossed(queue: _Queue, step: float) -> Crossing:
    """Return the crossing of a step. One so short that the exponential of its rates is small is doubled."""
    fluid = np.block([[queue.staying(queue.pool_size), -queue.handing_over], [queue.arriving, -queue.no_arrival]])
    doublings = max(0, ceil(log2(float(np.abs(fluid).sum(axis=1).max()) * step)))
    (up, down), (back, forth) = (
        (row[:, : len(row)], row[:, len(row) :]) for row in np.split(exponential(fluid * step / 2**doublings), 2)
    )
    home = np.asarray(np.linalg.inv(forth), dtype=float)
    crossing: Crossing = (up - down @ home @ back, -down @ home, home, home @ back)
    for _ in range(doublings):
        crossing = _twice(*crossing)
    return crossing


def _twice(through: Vector, turned: Vector, home: Vector, again: Vector) -> Crossing:
    """Return the crossing of a step twice as long (Redheffer's product): of probabilities, so that no error grows."""
    identity = np.eye(len(through))
    rising = np.asarray(np.linalg.inv(identity - turned @ again), dtype=float)
    falling = np.asarray(np.linalg.inv(identity - again @ turned), dtype=float)
    return (
        through @ rising @ through,
        turned + through @ rising @ turned @ home,
        home @ falling @ home,
        again + home @ falling @ again @ through,
    )


def exponential(matrix: Vector) -> Vector:
    """Return the exponential of a matrix, by its series for a small part of it and by squaring.

    scipy.linalg has it, too; its import would take as long as the answer.
    """
    halvings = max(0, ceil(log2(float(np.abs(matrix).sum(axis=1).max()) / SMALL_NORM)))
    small, identity = matrix / 2**halvings, np.eye(len(matrix))
    result: Vector = identity
    for term in range(TERMS, 0, -1):
        result = np.asarray(identity + small @ result / term)
    for _ in range(halvings):
        result = np.asarray(result @ result)
    return result


def kronecker(ones: Vector, others: Vector) -> Vector:
    """Return the Kronecker product of two matrices. That of numpy takes several times as long for small ones."""
    (rows, columns), (inner_rows, inner_columns) = ones.shape, others.shape
    products = ones[:, None, :, None] * others[None, :, None, :]
    return np.asarray(products.reshape(rows * inner_rows, columns * inner_columns))


def _integrals(values: Vector, steps: Vector) -> Vector:
    """Return the integrals from the first value to each of them, by the trapezoidal rule."""
    return np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2 * steps)])


def first_passages(up: Vector, local: Vector, down: Vector) -> Vector:
    """Return G of a quasi-birth-death process: the probabilities of the states at the first visit one level below.

    By logarithmic reduction (Latouche and Ramaswami 1993).
    """
    identity = np.eye(len(local))
    above, below = _solved(-local, up, down)
    passages, climb = below.copy(), above.copy()
    for _ in range(MOST_ITERATIONS):
        both = identity - above @ below - below @ above
        above, below = _solved(both, above @ above, below @ below)
        more = climb @ below
        passages, climb = passages + more, climb @ above
        if more.max() < CONVERGED:
            break
    return np.asarray(passages / passages.sum(axis=1, keepdims=True))  # a stable queue always comes back


def _solved(matrix: Vector, *sides: Vector) -> Sequence[Vector]:
    """Return the solutions of a system for right-hand sides of its size."""
    return np.hsplit(np.linalg.solve(matrix, np.hstack(sides)), len(sides))


def _levels(queue: _Queue, returning: Vector) -> Sequence[Vector]:
    """Return the weights of the states with 0, 1, ... connections in use and nobody waiting.

    returning: the states in which nobody waits any more, after an arrival at a full pool. Level by level, the levels
    above are folded into returns to this one.
    """
    local, ratios = queue.staying(queue.pool_size) + queue.no_arrival + queue.arriving @ returning, []
    for fewer in reversed(range(queue.pool_size)):
        fewer_in_use = queue.ending(fewer + 1)
        ratios.append(np.linalg.solve(-_balanced(local, fewer_in_use).T, queue.starting(fewer).T).T)
        local = queue.changing(fewer) + queue.staying(fewer) + ratios[-1] @ fewer_in_use
    kernel = np.linalg.svd(_balanced(local, np.zeros((len(queue.arrivals.rates), 1))).T)[2][-1]
    levels = [kernel / kernel.sum()]
    for ratio in reversed(ratios):
        levels.append(levels[-1] @ ratio)
    return levels


def _balanced(local: Vector, ending: Vector) -> Vector:
    """Return a generator whose diagonal balances all other rates: without a subtraction, no rounding error grows.

    Source: Grassmann, Taksar and Heyman (1985).
    """
    balanced = local.copy()
    np.fill_diagonal(balanced, 0.0)
    np.fill_diagonal(balanced, -balanced.sum(axis=1) - ending.sum(axis=1))
    return balanced
