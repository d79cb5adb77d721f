"""The pools of an observation together, beside what the server admits: with their needs, and with today's sizes."""

from collections.abc import Sequence
from dataclasses import dataclass

from poolsize.answer.fleet import ServerLimit, Service
from poolsize.observe.observation import Observation
from poolsize.observe.pool_answer import PoolAnswer


@dataclass(frozen=True)
class Together:
    """Connections of all pools that are used, usually and in a rolling deploy: with their needs, with today's sizes.

    is_least: whether a need is a lower bound. today, today_in_deploy: None where the size of a pool is not known.
    limit: of the server that all of them use.
    """

    needed: int
    needed_in_deploy: int
    is_least: bool
    today: int | None
    today_in_deploy: int | None
    limit: ServerLimit

    @property
    def exceeds(self) -> bool:
        """Whether the needs exceed in a deploy what the server leaves for the pools."""
        return self.limit.usable is not None and self.needed_in_deploy > self.limit.usable

    @property
    def exceeds_today(self) -> bool:
        """Whether today's sizes exceed it."""
        return self.limit.usable is not None and (self.today_in_deploy or 0) > self.limit.usable


def together(answers: Sequence[PoolAnswer], limit: ServerLimit, growth: float = 1.0) -> Together | None:
    """Return the connections of all pools; None where a server counted them, which does not tell processes apart.

    growth: factor on the observed rate.
    """
    used = [answer for answer in answers if answer.is_used]
    if not used or any(answer.busiest.is_lower_bound for answer in used):
        return None
    in_deploy = [Service("pool", answer.processes).pools_in_deploy(limit.surge) for answer in used]
    needs = [answer.need_at(growth) for answer in used]
    sizes = [answer.busiest.size for answer in used if answer.busiest.size is not None]
    is_known = len(sizes) == len(used)
    return Together(
        sum(need * answer.processes for need, answer in zip(needs, used, strict=True)),
        sum(need * processes for need, processes in zip(needs, in_deploy, strict=True)),
        any(answer.is_lower_bound for answer in used),
        sum(answer.size_together or 0 for answer in used) if is_known else None,
        sum(size * processes for size, processes in zip(sizes, in_deploy, strict=True)) if is_known else None,
        limit,
    )


def observed_limit(observation: Observation) -> int | None:
    """Return the max_connections of the observed server; None where it is not known, or there are several servers."""
    limits = {server.max_connections for server in observation.servers}
    limit = limits.pop() if len(limits) == 1 else None
    return limit if limit and limit > ServerLimit.reserve else None
