"""The connections of a proxy, a pool that all processes share: what bounds them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from poolsize.answer.finding import Finding
from poolsize.answer.fleet import ServerLimit, Service
from poolsize.answer.fleet_plan import LimitUnknown
from poolsize.errors import BadInput
from poolsize.pool_config.reasons import ProxyFloor, ProxyLimit

if TYPE_CHECKING:  # numpy stays out of `poolsize config --size 33`
    from poolsize.answer.from_traffic import TrafficAnswer
    from poolsize.answer.traffic import Traffic
    from poolsize.answer.traffic_need import ProcessNeed


def shared_service(service: Service, limit: ServerLimit) -> Service:
    """Return the service as its proxy sees it. Raises BadInput where its deadlock floor exceeds the server's limit."""
    shared = service.as_one_process(limit.surge)
    if limit.usable is not None and limit.usable < shared.floor:
        raise BadInput(
            "`max_connections`: the threads of all processes share the proxy, which needs "
            f"{shared.floor:,} connections (deadlock floor), and the server has {limit.usable:,} for it; raise its "
            "limit, or run fewer threads"
        )
    return shared


def shared_connections(size: int, shared: Service, limit: ServerLimit) -> tuple[int, tuple[Finding, ...]]:
    """Return a proxy's connections of the recommended ones, and what makes them more or fewer."""
    if shared.floor > size:
        return shared.floor, (ProxyFloor(shared.floor, size),)
    if limit.usable is not None and limit.usable < size:
        return limit.usable, (ProxyLimit(limit.usable, size, of_server(limit.raised_to(size))),)
    return size, ()


def proxy_findings(answer: "TrafficAnswer", traffic: "Traffic", of_process: "ProcessNeed") -> Iterator[Finding]:
    """Yield the findings of the answer for a proxy in its words.

    traffic, of_process: of the processes that share it.
    """
    from poolsize.answer import traffic_findings as of  # only a traffic needs numpy

    for finding in answer.findings:
        match finding:
            case of.FloorBound(floor=floor, need=need):
                yield ProxyFloor(floor, need)
            case of.ThreadsBound() | of.TooFewThreads():
                yield of.bound(traffic, of_process)
            case of.LimitBound(variables=variables):
                yield replace(finding, variables=of_server(variables))
            case LimitUnknown():
                pass  # it says what the pools of processes open
            case _:
                yield finding


def of_server(variables: Mapping[str, int]) -> dict[str, int]:
    """Return variables under names that differ from a proxy's own of the same name."""
    return {f"the server's {name}": value for name, value in variables.items()}
