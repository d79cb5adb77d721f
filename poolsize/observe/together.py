"""The pools of an observation together, beside what the server admits: with their needs, and with today's sizes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from poolsize.answer.fleet import ServerLimit, Service
from poolsize.observe.observation import Observation
from poolsize.observe.pool_answer import PoolAnswer


@dataclass(frozen=True)
class Together:
    """Connections of all pools, usually and in a rolling deploy: with their needs, also at twice the rate, and today.

    is_least: whether a need is a lower bound. idle: pools in which no connection was in use; they have no need. today,
    today_in_deploy: None where the size of a pool is not known. limit: of the server that all pools use.
    growth: of the needs, a factor on the observed rate. is_selected: whether other pools were left out.
    most_open: connections of the server, of all clients, at any reading; None where they are not known.
    """

    needed: int
    needed_in_deploy: int
    at_twice: int
    at_twice_in_deploy: int
    is_least: bool
    idle: int
    today: int | None
    today_in_deploy: int | None
    limit: ServerLimit
    growth: float = 1.0
    is_selected: bool = False
    most_open: int | None = None

    @property
    def exceeds(self) -> bool:
        """Whether the needs exceed in a deploy what the server leaves for the pools."""
        return self.limit.usable is not None and self.needed_in_deploy > self.limit.usable

    @property
    def exceeds_at_twice(self) -> bool:
        """Whether the needs at twice the rate exceed in a deploy what the server leaves for the pools."""
        return self.limit.usable is not None and self.at_twice_in_deploy > self.limit.usable

    @property
    def exceeds_today(self) -> bool:
        """Whether today's sizes exceed in a deploy what the server leaves for the pools."""
        return self.limit.usable is not None and (self.today_in_deploy or 0) > self.limit.usable


def together(
    answers: Sequence[PoolAnswer],
    limit: ServerLimit,
    growth: float = 1.0,
    size: int | None = None,
) -> Together | None:
    """Return the connections of all pools; None where a server counted them: it can't distinguish processes.

    growth: factor on the observed rate. size: of each pool, in place of today's sizes.
    """
    used = [answer for answer in answers if answer.is_used]
    if not used or any(answer.busiest.is_lower_bound for answer in used):
        return None
    processes = [(answer.processes, _in_deploy(answer, limit)) for answer in used]
    needed, needed_in_deploy = _sums([answer.need_at(growth) for answer in used], processes)
    at_twice, at_twice_in_deploy = _sums([answer.need_at(growth, twice=True) for answer in used], processes)
    of_all = [(answer, answer.size_together if size is None else size * answer.processes) for answer in answers]
    sizes = [
        (connections, ceil(connections * _in_deploy(answer, limit) / answer.processes))
        for answer, connections in of_all
        if connections is not None
    ]
    is_known = len(sizes) == len(answers)
    return Together(
        needed=needed,
        needed_in_deploy=needed_in_deploy,
        at_twice=at_twice,
        at_twice_in_deploy=at_twice_in_deploy,
        is_least=any(answer.is_lower_bound for answer in used),
        idle=len(answers) - len(used),
        today=sum(size for size, _ in sizes) if is_known else None,
        today_in_deploy=sum(in_deploy for _, in_deploy in sizes) if is_known else None,
        limit=limit,
        growth=growth,
    )


def _sums(needs: Sequence[int], processes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the connections of pools of these sizes, usually and in a deploy.

    processes: for each pool size, their usual number, and the number in a deploy.
    """
    usually = sum(need * usual for need, (usual, _) in zip(needs, processes, strict=True))
    return usually, sum(need * in_deploy for need, (_, in_deploy) in zip(needs, processes, strict=True))


def _in_deploy(answer: PoolAnswer, limit: ServerLimit) -> int:
    """Return the processes in a rolling deploy."""
    return Service("pool", answer.processes).pools_in_deploy(limit.surge)


def observed_together(
    observation: Observation, answers: Sequence[PoolAnswer], size: int | None = None
) -> Together | None:
    """Return the connections of all pools beside the limit of the observed server. size: as in together."""
    return together_in(observation, answers, ServerLimit(observed_limit(observation)), size=size)


def together_in(
    observation: Observation,
    answers: Sequence[PoolAnswer],
    limit: ServerLimit,
    growth: float = 1.0,
    size: int | None = None,
) -> Together | None:
    """Return the connections of all pools of an observation. The rest as in together."""
    of_all = together(answers, limit, growth, size)
    most = observation.servers[0].highest("connected_max") if len(observation.servers) == 1 else None
    most_open = None if most is None else round(most)
    return of_all and replace(of_all, is_selected=bool(observation.source.selector), most_open=most_open)


def observed_limit(observation: Observation) -> int | None:
    """Return the max_connections of the observed server; None where it is not known, or there are several servers."""
    limits = [server.max_connections for server in observation.servers]
    return limits[0] if len(limits) == 1 and (limits[0] or 0) > ServerLimit.reserve else None
