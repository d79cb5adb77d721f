"""The pool of one process, period by period: connections in use, bursts, usage times, and where demand is cut off.

The sum of usage times over the length of a period is the mean number of connections in use (Little's law). Samples add
how far the number varies within a period. Uncongested, it is Poisson at each mean, and busy times raise the mean.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaln

from poolsize.analysis.vector import Vector
from poolsize.answer.traffic_findings import OFTEN
from poolsize.bounds import LARGEST_POOL
from poolsize.observe.in_use import EACH_MOMENT, FAR, connections_in_use, timeouts_of
from poolsize.observe.observation import Buckets, ObservedPool
from poolsize.observe.sums import squared_variation
from poolsize.traffic.pool_use import BUSY_SHARE
from poolsize.traffic.usage_phases import UsageTimes, log_normal

SMOOTHED_SECONDS, PARTS = 900, 8
"""Periods are smoothed over this time, and over at most one of so many parts of the observation."""
FEWEST = 3
"""Periods over which smoothing makes sense."""
SURE = 3
"""Standard errors beyond which variation counts as measured."""
BUSY = 0.8
"""Periods with at least this share of the highest load show how it varies at its highest."""
AVERAGES_OUT = 0.2
"""Neighbouring periods' means have at most this correlation where bursts are shorter than a period."""
SHORTEST, LONGEST = 0.3, 30.0
"""Bounds of the seconds for which bursts last."""
SHARES = np.geomspace(BUSY_SHARE, 0.35, 15)
"""Shares of the time that busy times may take."""
USUAL_SHARE = 0.2
"""That share where no highest samples show it."""
ERRORS = np.linspace(-2.0, 2.0, 9)
"""Standard errors by which the measured variance of the rate may be off."""
BURST_LOADS = 20
"""Different loads for which the highest samples are compared with bursts."""
ASSUMED_VARIATION, VARIATION_RANGE = 1.5, (0.0, 8.0)
"""Squared coefficient of variation of usage times of which nothing is known, and its range.

The need for the assumed variation is in the middle of the needs for the ends of the range.
"""
FEWEST_MEANS, MEANS_ERROR, MOST_BY_MEANS = 30, 8.0, 4.0
"""Fewest mean usage times that show it, its error times the root of their number, and the highest that they show."""
FEWEST_USES = 10
"""The median difference between means of fewer usage times is too small, if these vary more than exponential times."""
FEWEST_USAGES = 1_000
"""Among fewer usage times, long ones that are rare may be missing."""
CHI_SQUARE_MEDIAN = 0.4549
"""Median of the square of a normal variable, over its variance."""
CHANCE = 0.01
"""A smaller probability is not chance."""
LEAST = 1e-9
"""Connections in use on average of a pool that is not used."""
LOADS = 60
"""Different loads for which the distribution of the connections in use is computed."""
MOST_VARIATION = 100.0
OPEN_BUCKET = 1.5
"""Times above the last bound are this many times as long, on average."""


@dataclass(frozen=True)
class Bursts:
    """Busy times. times: rate in them over the mean rate; 1 for none. share: of the time. seconds: mean length."""

    times: float = 1.0
    share: float = BUSY_SHARE
    seconds: float = 1.0

    @property
    def levels(self) -> tuple[tuple[float, float], ...]:
        """(Share of the time, rate over the mean rate) in busy times, and in others."""
        return (self.share, self.times), (1 - self.share, (1 - self.share * self.times) / (1 - self.share))


@dataclass(frozen=True)
class ProcessLoad:
    """The pool of one process, in the periods in which its connections in use are known.

    at, seconds: as in ObservedPool. in_use: connections in use on average in each period, as counted or sampled.
    counted: in which of them by sums of usage times. known: which periods of the pool these are.
    """

    pool: ObservedPool
    at: Vector
    seconds: Vector
    in_use: Vector
    counted: NDArray[np.bool_]
    known: NDArray[np.bool_]

    def series(self, name: str) -> Vector:
        """Return the values of a series of PoolSpan in these periods."""
        return np.asarray(self.pool[name][self.known])

    def total(self, name: str) -> float:
        """Return the sum of a series of PoolSpan; 0 where it is not known."""
        return self.pool.total(name) or 0.0

    @property
    def is_counted(self) -> bool:
        """Whether sums of usage times show the connections in use, in some periods at least."""
        return bool(self.counted.any())

    @property
    def mean(self) -> float:
        """Connections in use on average."""
        return float(np.average(self.in_use, weights=self.seconds))

    @property
    def size(self) -> int | None:
        """Connections that the pool may open, by its last period that knows them."""
        sizes = self.pool["size"][np.isfinite(self.pool["size"])]
        return int(sizes[-1]) if len(sizes) and sizes[-1] >= 1 else None

    @property
    def highest(self) -> int | None:
        """The most connections in use in any sample; None without samples."""
        highest = self.pool.highest("in_use_max")
        return None if highest is None else int(highest)

    @property
    def size_then(self) -> int | None:
        """The size, unless more connections were in use before it was reduced."""
        return self.size if self.size is not None and self.size >= (self.highest or 0) else None

    @cached_property
    def timeouts(self) -> Vector:
        """Requests that gave up in each period of the pool because no connection was free."""
        return timeouts_of(self.pool)

    @property
    def readings(self) -> float | None:
        """How many readings `highest` is of; None where the library recorded each moment."""
        return None if self.pool.library == EACH_MOMENT else self.total("samples")

    @cached_property
    def usage_ms(self) -> float | None:
        """The mean usage time in busy periods; None where it is not known."""
        busy = self.in_use >= BUSY * self.in_use.max()
        for periods in (busy, np.ones_like(busy)):
            uses, seconds = self.series("uses")[periods], self.series("usage_seconds")[periods]
            both = np.isfinite(uses) & np.isfinite(seconds)
            if uses[both].sum() > 0 and seconds[both].sum() > 0:
                return 1000 * float(seconds[both].sum() / uses[both].sum())
        return None

    @property
    def requests_per_second(self) -> float | None:
        """Requests per second of each connection in use, in busy periods; None where usage times are not known.

        A connection that is never given back is in use without a request.
        """
        if self.is_counted or not self.usage_ms:
            return 1000 / self.usage_ms if self.usage_ms else None
        uses, in_use = self.series("uses"), self.in_use * self.seconds
        read = np.isfinite(uses) & (self.in_use >= BUSY * self.in_use.max())
        return float(uses[read].sum() / in_use[read].sum()) if in_use[read].sum() > 0 else 1000 / self.usage_ms

    @property
    def variation(self) -> float | None:
        """The squared coefficient of variation of the usage times; None where nothing shows it."""
        return self._variations[1] if self._variations else None

    @property
    def _likely_variation(self) -> float:
        return ASSUMED_VARIATION if self.variation is None else self.variation

    @property
    def variations(self) -> tuple[float, float]:
        """The 95 % range of that."""
        return (self._variations[0], self._variations[2]) if self._variations else VARIATION_RANGE

    @property
    def varies_as_assumed(self) -> bool:
        """Whether nothing shows how usage times vary."""
        return self.variation is None

    @cached_property
    def _variations(self) -> tuple[float, float, float] | None:
        """Low, likely and high: by the histogram, else by how mean usage times differ from each other."""
        number, total_seconds = self.total("uses"), self.total("usage_seconds")
        by_buckets = variation_of(self.pool.usage_buckets, 1000 * total_seconds / number if number > 0 else None)
        if by_buckets is not None:
            return by_buckets, by_buckets, by_buckets
        by_means = self._variation_between_readings or self._variation_between_periods
        if by_means is None or number < FEWEST_USAGES:
            return None
        median, mean, number_of_means = by_means
        error = 1 + MEANS_ERROR / sqrt(number_of_means)
        if (median * error < 1) != (mean * error < 1):  # a pause of the server or the client raises the mean
            return None
        low, high = min(median, mean) / error, max(median, mean) * error
        if high < 1:
            return low, mean, 1.0  # single usage times vary more if a request has several: means hide their pattern
        likely = min(max(mean, 1.0), ASSUMED_VARIATION if low < 1 else MOST_BY_MEANS)
        return min(low, 1.0), likely, VARIATION_RANGE[1]  # means may differ for other reasons than chance

    @property
    def _variation_between_readings(self) -> tuple[float, float, float] | None:
        """Median and mean over the periods of the squared coefficient of variation, and the number of mean usage times.

        None where there are too few.
        """
        variations, means = self.series("usage_variation"), self.series("usage_means")
        read = np.isfinite(variations) & (means > 0)
        variations, means = variations[read], means[read]
        if (number := float(means.sum())) < FEWEST_MEANS:
            return None
        return float(np.median(variations)), float(np.average(variations, weights=means)), number

    @property
    def _variation_between_periods(self) -> tuple[float, float, float] | None:
        """The same by the mean usage times of periods that follow each other.

        The median replaces the mean: a few periods may differ for other reasons than chance.
        """
        uses, seconds = self.series("uses"), self.series("usage_seconds")
        read = (uses >= FEWEST_USES) & (seconds > 0)
        pairs = read[1:] & read[:-1] & (np.diff(self.at) < 1.5 * self.seconds[:-1])
        if (number := int(pairs.sum()) + 1) < FEWEST_MEANS:
            return None
        (uses, other_uses), (seconds, other_seconds) = ((of[1:][pairs], of[:-1][pairs]) for of in (uses, seconds))
        mean = (seconds + other_seconds) / (uses + other_uses)
        off = (seconds / uses - other_seconds / other_uses) / mean
        variation = float(np.median(squared_variation(off, uses, other_uses))) / CHI_SQUARE_MEDIAN
        return variation, variation, number

    @property
    def usage(self) -> UsageTimes:
        """The usage times; of 1 ms where no mean is known."""
        return self.usage_of()

    def usage_of(self, variation: float | None = None, mean_ms: float | None = None) -> UsageTimes:
        """Return usage times of this variation and this mean; None: as observed, or assumed."""
        if variation is None:
            variation = self._likely_variation
        usage = UsageTimes(mean_ms or self.usage_ms or 1.0, variation)
        return (log_normal(usage.mean_ms, 0.99, usage.p99_ms) or usage) if variation > 1 else usage

    @property
    def wait_ms(self) -> float | None:
        """The mean wait time of a use; None where it is not known."""
        uses = float(np.nansum(self.pool["uses"][np.isfinite(self.pool["wait_seconds"])]))
        return 1000 * self.total("wait_seconds") / uses if uses > 0 else None

    @property
    def noise(self) -> Vector:
        """The standard deviations of `in_use` by chance, at the same rate: of so many usages, or so many samples."""
        smooth = self._smooth_above_zero
        of_usages = np.sqrt(smooth * (self.usage_ms or 0.0) / 1000 * (1 + self._likely_variation) / self.seconds)
        samples, spread = self.series("samples"), self.series("in_use_variance")
        spread = np.where(samples >= 2, spread * samples / np.maximum(samples - 1, 1), spread)  # of few samples
        spread = np.where(np.isfinite(spread), np.maximum(spread, smooth), smooth)
        of_samples = np.where(samples >= 1, np.sqrt(spread / np.maximum(samples, 1)), 0.0)
        return np.where(self.counted, of_usages, of_samples) if self.usage_ms else of_samples

    @property
    def _window(self) -> int:
        """Periods over which the load is smoothed; 1 for none, where the observation is short."""
        periods = int(min(SMOOTHED_SECONDS / float(np.median(self.seconds)), len(self.in_use) // PARTS))
        return periods if periods >= FEWEST else 1

    @cached_property
    def _smooth(self) -> Vector:
        """The smoothed connections in use."""
        return _moving_mean(self.in_use, self._window)

    @property
    def _smooth_above_zero(self) -> Vector:
        """The same, but at least LEAST: to divide by."""
        return np.maximum(self._smooth, LEAST)

    @cached_property
    def _variances(self) -> tuple[float, float]:
        """The squared coefficients of variation of the rate: within a period, and of neighbouring periods' means.

        0 for what is not more than chance.
        """
        smooth = self._smooth_above_zero
        busy = smooth >= BUSY * smooth.max()
        samples, spread = self.series("samples"), self.series("in_use_variance")
        read = busy & (samples >= 2) & np.isfinite(spread)
        degrees, means = samples[read] - 1, self.in_use[read]
        within = between = 0.0
        if square := float(degrees @ means**2):
            excess = float((samples[read] * spread[read] - degrees * means).sum()) / square
            error = sqrt(float(degrees @ (2 * means**2 + means))) / square
            within = excess if excess > SURE * error else 0.0
        if self._window > 1 and busy.sum() > self._window:
            off = (self.in_use - smooth)[busy] / smooth[busy] * sqrt(self._window / (self._window - 1))
            variance = (1.4826 * float(np.median(np.abs(off)))) ** 2
            chance = float(np.median((self.noise[busy] / smooth[busy]) ** 2))
            between = variance - chance if variance > chance * (1 + SURE * sqrt(5 / busy.sum())) else 0.0
        return within, between

    @cached_property
    def load(self) -> Vector:
        """The connections in use that the traffic of each period makes on average.

        Without the period's chance, and without that of bursts that are shorter than a period: they are in `bursts`.
        """
        return np.maximum(self.own_load, self._steady)

    @property
    def own_load(self) -> Vector:
        """The same, also below the neighbours: a period far from them keeps nearly all by which it differs."""
        off = self.in_use - self._smooth
        kept = np.maximum(0.0, 1 - (FAR * self._spread) ** 2 / np.maximum(off**2, LEAST))
        return np.asarray(self._steady + off * kept)

    @cached_property
    def _steady(self) -> Vector:
        """The smoothed connections in use, as far as they change by more than chance and short bursts."""
        mean, variance, chance = self.in_use.mean(), self._smooth.var(), (self._spread**2).mean() / self._window
        error = chance * sqrt(2 * self._window / len(self.in_use))
        kept = 1 - chance / variance if variance > chance + SURE * error else 0.0
        return np.asarray(mean + kept * (self._smooth - mean))

    @property
    def _spread(self) -> Vector:
        """The standard deviations of a period's own connections in use, by chance and short bursts."""
        between = self._variances[1] if self._has_short_bursts else 0.0
        return np.sqrt(self.noise**2 + between * self._smooth**2)

    @property
    def load_error(self) -> float:
        """The standard deviation of the highest load by chance."""
        highest = int(np.argmax(self.load))
        is_smooth = self.load[highest] == self._steady[highest]
        return float(self._spread[highest]) / (sqrt(self._window) if is_smooth else 1)

    @property
    def _has_short_bursts(self) -> bool:
        """Whether the mean of a period hardly depends on that of the period before, but for the slow changes."""
        within, _ = self._variances
        off = self.in_use / self._smooth_above_zero - 1
        square = float(off @ off)
        return within > 0 and (square == 0 or float(off[1:] @ off[:-1]) / square <= AVERAGES_OUT)

    @cached_property
    def bursts(self) -> Bursts:
        """Busy times within periods, by how samples vary and by the highest samples: the likeliest in their middle."""
        return self.bursts_at(0.5)

    def bursts_at(self, probability: float) -> Bursts:
        """Return the likely bursts at this quantile of the connections in use that they make."""
        tried, weights = self._likely_bursts
        return tried[int(np.searchsorted(np.cumsum(weights), probability * (1 - 1e-9)))]

    @cached_property
    def _likely_bursts(self) -> tuple[list[Bursts], Vector]:
        """Bursts by the p99 of the connections in use that they make, ascending, and their probabilities."""
        within, between = self._variances
        if within == 0:
            return [Bursts()], np.ones(1)
        if not self._has_short_bursts:
            between = 0.0
        lasting = _lasting(between / (within + between), float(np.median(self.seconds)))
        variance = (within + between) * (1 + (self.usage_ms or 0.0) / 1000 / lasting)  # usages average bursts out, too
        highest, samples = self.series("in_use_max"), self.series("samples")
        read = (highest <= LARGEST_POOL) & (samples >= 1) & (self.load >= BUSY * self.load.max())
        number = min(float(np.nansum(samples[read])), float(self.seconds[read].sum()) / lasting / 2)
        tried, likely = [], []
        for share in SHARES.tolist():
            chance = 2 * (1 + 1 / (variance * float(self.load.max()))) ** 2
            error = sqrt((1 / (share * (1 - share)) - 4 + chance) / max(number, 1.0))
            for errors in ERRORS.tolist() if read.any() else [0.0]:
                square = variance * exp(errors * error)
                if square < (1 - share) / share:
                    bursts = Bursts(1 + sqrt(square * (1 - share) / share), share, lasting / (1 - share))
                    tried.append(bursts)
                    likely.append(self._likelihood(bursts, read, highest, samples) - errors**2 / 2)
        if not tried:
            return [Bursts()], np.ones(1)
        if not read.any():
            return [min(tried, key=lambda each: abs(each.share - USUAL_SHARE))], np.ones(1)
        weights = np.exp(np.array(likely) - max(likely))
        order = np.argsort([self._p99_in_use(each) for each in tried])
        return [tried[place] for place in order], weights[order] / weights.sum()

    def _p99_in_use(self, bursts: Bursts) -> float:
        """Return the p99 of the connections in use at the highest load, between whole numbers, too."""
        load = float(self.load.max())
        most = bursts.times * load + 8 * sqrt(bursts.times * load) + 8
        at_most = in_use_at_most(np.array([load]), bursts, None, int(most))[0]
        return float(np.interp(0.99, at_most, np.arange(len(at_most))))

    def _likelihood(self, bursts: Bursts, read: Vector, highest: Vector, samples: Vector) -> float:
        """Return the logarithm of the probability of the highest samples of these periods; 0 without any."""
        if not read.any():
            return 0.0
        loads, places, samples = self.load[read], highest[read].astype(int), samples[read]
        levels = np.linspace(float(loads.min()), float(loads.max()), BURST_LOADS)
        rows = np.rint((loads - levels[0]) / max(levels[-1] - levels[0], LEAST) * (BURST_LOADS - 1)).astype(int)
        at_most = in_use_at_most(levels, bursts, self.size, int(places.max()))
        upper = at_most[rows, places] ** samples
        lower = np.where(places > 0, at_most[rows, np.maximum(places - 1, 0)] ** samples, 0.0)
        return float(np.log(np.maximum(upper - lower, 1e-12)).sum())

    @cached_property
    def at_most(self) -> Vector:
        """The shares of the time in which at most 0, 1, ... connections are in use, in all periods together."""
        counts, bounds = np.histogram(self.load, LOADS, weights=self.seconds)
        middles = (bounds[1:] + bounds[:-1]) / 2
        some = counts > 0
        highest = self.bursts.times * float(self.load.max())
        most = min(int(highest + 8 * sqrt(highest) + 8), self.size or LARGEST_POOL, LARGEST_POOL)
        return np.asarray((counts[some] / counts.sum()) @ in_use_at_most(middles[some], self.bursts, self.size, most))

    @cached_property
    def in_use_p99_9(self) -> int:
        """The connections in use that are not exceeded for 99.9 % of the time, of all periods together."""
        size, at_most, most = self.size, self.at_most, len(self.at_most) - 1
        computed = int(np.argmax(at_most >= OFTEN)) if (at_most >= OFTEN).any() else most
        evidence = max(computed, self._evidence)
        return evidence if size is None else min(evidence, max(size, self._evidence))

    @property
    def is_lower_bound(self) -> bool:
        """Whether a server counted the connections in use: it does not see those that nothing runs on."""
        return self.pool.highest("held_max") is not None

    @property
    def is_blind(self) -> bool:
        """Whether readings are too rare to show bursts within a period: further apart than a second."""
        samples = self.series("samples")
        read = samples >= 1
        return self.bursts.times == 1 and not (read.any() and float((self.seconds[read] / samples[read]).mean()) <= 1)

    @property
    def _evidence(self) -> int:
        """The highest number that more samples reach than 0.1 % of them by chance; 0 without samples."""
        highest, samples = self.series("in_use_max"), self.series("samples")
        read = np.isfinite(highest) & (samples >= 1)
        rare = float(samples[read].sum()) * (1 - OFTEN)
        reached = np.sort(highest[read])[::-1]  # each period counts once: as few samples as that are certain
        by_chance = gammainc(np.arange(1, len(reached) + 1), rare)
        return int(reached[int(np.argmax(by_chance < CHANCE))]) if (by_chance < CHANCE).any() else 0


def process_load(pool: ObservedPool) -> ProcessLoad | None:
    """Return the load of a pool; None where nothing says how many of its connections are in use."""
    in_use, is_counted = connections_in_use(pool)
    known = in_use <= LARGEST_POOL / 2  # nobody has more
    if not known.any():
        return None
    return ProcessLoad(pool, pool.at[known], pool.seconds[known], in_use[known], is_counted[known], known)


def _lasting(kept: float, period: float) -> float:
    """Return the seconds in which bursts forget themselves, whose variance a period's mean keeps a share of."""
    low, high = SHORTEST, LONGEST
    while high / low > 1.01:
        middle = sqrt(low * high)
        times = period / middle
        low, high = (middle, high) if 2 * (times - 1 + exp(-times)) / times**2 < kept else (low, middle)
    return low


def _moving_mean(values: Vector, window: int) -> Vector:
    if window == 1:
        return values
    ones = np.ones(window)
    return np.asarray(np.convolve(values, ones, "same") / np.convolve(np.ones_like(values), ones, "same"))


def in_use_at_most(loads: Vector, bursts: Bursts, size: int | None, most: int) -> Vector:
    """Return the probabilities that at most 0, 1, ... most connections are in use; a row for each load.

    Poisson, or that of a pool of this size with exponential usage times, in which requests wait.
    """
    numbers = np.arange(most + 1)
    result = np.zeros((len(loads), most + 1))
    for share, times in bursts.levels:
        means = np.maximum(times * loads, LEAST)[:, None]
        logs = numbers * np.log(means) - gammaln(numbers + 1)
        if size is None or most < size:  # no limit, or the highest sample is below it: nothing was cut off
            below = np.cumsum(np.exp(logs - means), axis=1)
        else:
            logs = np.where(numbers <= size, logs, -inf)
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            serves = means[:, 0] < size
            weights[:, size] /= np.where(serves, 1 - np.minimum(means[:, 0], size * (1 - 1e-9)) / size, 1.0)
            weights[~serves, :size], weights[~serves, size] = 0.0, 1.0
            below = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
        result += share * below
    return np.minimum(result, 1.0)


def variation_of(buckets: Buckets, mean_ms: float | None) -> float | None:
    """Return the squared coefficient of variation of times in buckets; None without them or without their mean.

    The place of times within their buckets is such that they have the mean.
    """
    filled = [(place, number) for place, (_, number) in enumerate(buckets) if number > 0]
    if not filled or not mean_ms or len(buckets) < FEWEST:
        return None
    bounds = [0.0, *(inf if bound is None else bound for bound, _ in buckets)]
    lows = np.array([bounds[place] for place, _ in filled])
    highs = np.array([bounds[place + 1] for place, _ in filled])
    highs = np.where(np.isfinite(highs), highs, (2 * OPEN_BUCKET - 1) * lows)
    shares = np.array([number for _, number in filled]) / sum(number for _, number in filled)
    widths = highs - lows
    place = min(1.0, max(0.0, float((mean_ms - shares @ lows) / max(shares @ widths, 1e-12))))
    middles = lows + place * widths
    square = float(shares @ (middles**2 + widths**2 * place * (1 - place) / 3))
    mean = float(shares @ middles)
    return min(MOST_VARIATION, max(0.0, square / mean**2 - 1)) if mean > 0 else None
