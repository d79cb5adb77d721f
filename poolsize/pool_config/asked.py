"""The options of `poolsize config` -> the settings of the pool, or of the proxy, that they ask for."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import click

from poolsize.answer.finding import Finding
from poolsize.answer.fleet import ServerLimit, Service, service_pool
from poolsize.answer.fleet_plan import FleetPlan, LimitUnknown, plan_fleet
from poolsize.command_line.fleet_options import FleetOptions, limit_of, plan_of_run
from poolsize.command_line.options import inspected, is_typed
from poolsize.command_line.run_file import complete_run, measured_answer, supply_of, traffic_with
from poolsize.command_line.traffic_options import TrafficOptions
from poolsize.errors import BadInput, WorkFailed
from poolsize.pool_config.reasons import ProxyFloor, ProxyLimit
from poolsize.pool_config.settings import (
    PoolSettings,
    ServerFacts,
    SizeOfRun,
    UsageInPool,
    measured_usage,
    pool_settings,
)
from poolsize.pool_config.stacks import Stack
from poolsize.present.text.fleet import fleet_text, fleet_values
from poolsize.present.text.json_text import json_text

if TYPE_CHECKING:  # numpy stays out of `poolsize config --size 33`
    from poolsize.answer.from_traffic import TrafficAnswer
    from poolsize.answer.traffic import Traffic
    from poolsize.answer.traffic_need import ProcessNeed


@dataclass(frozen=True)
class Asked:
    """The options, as typed: those of the recommendation, and why and form, for the form of the answer.

    None where an option was not typed. Raises BadInput for options that do not go together.
    """

    size: int | None
    run_path: str | None
    demand: TrafficOptions
    usage_time_ms: float | None
    caller_timeout_seconds: float
    url: str | None
    fleet: FleetOptions
    why: bool
    form: str

    @property
    def as_json(self) -> bool:
        """Whether the answer is a JSON object."""
        return self.form == "json"

    def __post_init__(self) -> None:
        self.demand.check(with_limits=False, has_usage=None not in (self.size, self.usage_time_ms))
        if self.usage_time_ms is not None and self.size is None and self.demand.rate is None and self.run_path is None:
            raise BadInput(
                "--usage-time also needs --rate (requests per second of all instances together), a measured --run, or "
                "--size"
            )
        if self.size is not None and self.run_path is not None:
            raise BadInput("give either --size or --run, not both: the run contains the recommended connections")
        if self.size is not None and self.demand.rate is not None:
            raise BadInput("give either --size or --rate, not both: the pool size follows from the traffic")

    def settings(self, stack: Stack | None) -> PoolSettings | None:
        """Return the settings for the size, the run or the traffic; None without any. Raises BadInput.

        Where no pools fit, it prints why and ends the command. stack: of the configuration, or None.
        """
        if self.size is None and self.run_path is None and self.demand.rate is None:
            return None
        settings_of = _divided if self.demand.rate is None else _for_traffic
        return settings_of(self, stack, *self.server)

    @cached_property
    def server(self) -> tuple[ServerLimit, ServerFacts]:
        """The limit and the facts of the server, as far as they are known. Raises BadInput and WorkFailed."""
        limit = self.fleet.limit()
        if not self.url:
            return limit, ServerFacts(limit.max_connections)
        inspection = inspected(self.url)
        limit = limit_of(inspection.server, inspection.connection_bytes, limit)
        return limit, ServerFacts(limit.max_connections, inspection.wait_timeout_seconds)


def _divided(asked: Asked, stack: Stack | None, limit: ServerLimit, facts: ServerFacts) -> PoolSettings:
    """Return the settings for recommended connections, which all processes divide, or share by a proxy."""
    fleet, usage, of_run, shared, measured = asked.fleet, _typed_usage(asked), None, None, None
    if asked.run_path is not None:
        analysis, answer = measured = measured_answer(asked.run_path, asked.usage_time_ms)
        fleet = fleet.measured_in(answer)
        assert answer.verdict
        usage = measured_usage(analysis, answer) or usage
        of_run = SizeOfRun(asked.run_path, answer.verdict, bool(answer.doubts), asked.usage_time_ms)
        facts = facts.measured_in(analysis)
    if not fleet.of_instances and not is_typed("surge"):
        limit = replace(limit, surge=0.0)
    service, of_pools = fleet.service(), limit.without_maximum() if stack and stack.shared_by_all else limit
    if measured is None:
        assert asked.size is not None
        plan = plan_fleet(asked.size, [service], of_pools)
    else:
        plan = plan_of_run(*measured, [service], of_pools)
    if not plan.pools:
        _end(json_text(fleet_values(plan)) if asked.as_json else fleet_text(plan))
    if stack and stack.is_proxy:
        shared, findings = shared_connections(plan.size, shared_service(service, limit), limit)
        plan = replace(plan, findings=findings)
    settings = pool_settings(plan, usage, facts, asked.caller_timeout_seconds, fleet_known=bool(fleet.of_instances))
    return replace(settings, of_run=of_run, shared_connections=shared)


def _typed_usage(asked: Asked) -> UsageInPool | None:
    """Return the typed usage times, which vary like exponential times if no percentile is typed; None without any."""
    if asked.usage_time_ms is None:
        return None
    from poolsize.traffic.usage_phases import UsageTimes  # which needs numpy

    return UsageInPool(asked.demand.varied(UsageTimes(asked.usage_time_ms)).p99_ms, asked.usage_time_ms)


def _for_traffic(asked: Asked, stack: Stack | None, limit: ServerLimit, facts: ServerFacts) -> PoolSettings:
    """Return the settings for the pool that the traffic needs: of each process, or of a proxy that they share."""
    from poolsize.answer.from_traffic import recommend_for
    from poolsize.answer.traffic_need import process_need
    from poolsize.present.text.traffic import traffic_text, traffic_values

    service, supply = asked.fleet.service(), None
    analysis = None if asked.run_path is None else complete_run(asked.run_path)
    traffic = traffic_with(asked.demand, asked.usage_time_ms, service, analysis)
    is_proxy = stack is not None and stack.is_proxy
    if asked.run_path is not None and analysis is not None:
        from poolsize.answer.application import ClientTimes  # and the analysis of a run with it

        client_times = ClientTimes(traffic.usage.mean_ms)
        supply = supply_of(asked.run_path, analysis, client_times, is_typed=asked.usage_time_ms is not None)
        facts = facts.measured_in(analysis)
    if is_proxy:
        shared = replace(traffic, service=shared_service(service, limit))
        answer = recommend_for(shared, supply, replace(limit, surge=0.0))
    else:
        answer = recommend_for(traffic, supply, limit.without_maximum() if stack and stack.is_server else limit)
    plan = answer.plan
    if not plan.pools:
        _end(json_text(traffic_values(answer)) if asked.as_json else traffic_text(answer))
    if is_proxy:
        of_process = process_need(traffic, supply)
        pools = (service_pool(service, of_process.pool_size, limit),)
        findings = proxy_findings(answer, traffic.loaded(answer.load), of_process)
        plan = FleetPlan(answer.pool_size, limit, pools, tuple(findings))
    times = answer.traffic.loaded(answer.load).usage
    usage, fleet_known = UsageInPool(times.p99_ms, times.mean_ms), bool(asked.fleet.of_instances)
    settings = pool_settings(plan, usage, facts, asked.caller_timeout_seconds, fleet_known=fleet_known)
    return replace(settings, traffic=answer, shared_connections=answer.pool_size if is_proxy else None)


def _end(text: str) -> NoReturn:
    click.echo(text)
    sys.exit(WorkFailed.exit_code)


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
            case of.LittleHeadroom(variables=variables):
                yield replace(finding, variables=of_server(variables), service="the proxy")
            case LimitUnknown():
                pass  # it says what the pools of processes open
            case _:
                yield finding


def of_server(variables: Mapping[str, int]) -> dict[str, int]:
    """Return variables under names that differ from a proxy's own of the same name."""
    return {f"the server's {name}": value for name, value in variables.items()}
