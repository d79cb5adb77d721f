"""A fleet's pools: against brute force, the laws that any fair division keeps, and the command's answers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize import recommend
from poolsize.answer.finding import Severity
from poolsize.answer.fleet import ServerLimit, Service, ServicePool, share_out
from poolsize.answer.fleet_plan import FleetPlan, plan_fleet
from poolsize.command_line.fleet_options import HELP
from poolsize.errors import BadInput
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.conftest import ROOT, Command, example, in_ci

CASES = 10_000
LIMITS = st.none() | st.integers(1, 400)
SERVICES = st.builds(
    Service,
    name=st.just("shop"),
    instances=st.integers(1, 6),
    processes=st.integers(1, 4),
    weight=st.integers(1, 5).map(float),
)


def sizes(pools: Sequence[ServicePool] | None) -> tuple[int, ...] | None:
    return None if pools is None else tuple(pool.pool_size for pool in pools)


def moments(service: Service, surge: float) -> Iterator[int]:
    """The instances that run at each moment: at every number the autoscaler may set, before and during a deploy."""
    for instances in range(service.instances, (service.max_instances or service.instances) + 1):
        yield from range(instances, instances + ceil(instances * Fraction(surge)) + 1)


def possible(service: Service, size: int) -> range:
    """The sizes that a pool may have, whatever the others have."""
    most = max(size // (service.instances * service.processes), service.floor)
    return range(service.floor, min(most, service.most_useful or most) + 1)


def fits(services: Sequence[Service], split: Sequence[int], size: int, limit: ServerLimit) -> bool:
    """Whether a split never exceeds the limit, nor the size where it could be smaller."""
    usual = sum(service.instances * service.processes * pool for service, pool in zip(services, split, strict=True))
    smallest = sum(service.instances * service.processes * service.floor for service in services)
    most = sum(
        max(moments(service, limit.surge)) * service.processes * pool
        for service, pool in zip(services, split, strict=True)
    )
    return usual <= max(size, smallest) and (limit.usable is None or most <= limit.usable)


def supply(services: Sequence[Service], split: Sequence[int]) -> list[float]:
    """Each service's connections for its weight."""
    return [service.pools * pool / service.weight for service, pool in zip(services, split, strict=True)]


def random_case(random: Random) -> tuple[int, list[Service], ServerLimit]:
    services = []
    for place in range(random.randint(1, 3)):
        instances = random.randint(1, 4)
        threads = random.choice([{}, {"threads": random.randint(1, 3), "connections_per_thread": random.randint(1, 2)}])
        services.append(
            Service(
                f"service {place}", instances, random.randint(1, 3), float(random.randint(1, 4)),
                instances + random.randint(0, 2), **threads,
            )
        )  # fmt: skip
    most, account = random.choice([None, random.randint(6, 60)]), random.choice([None, random.randint(1, 60)])
    limit = ServerLimit(most, random.randint(0, 5), account, random.choice([0, 0.25, 1]))
    return random.randint(1, 30), services, limit


@pytest.mark.long
@pytest.mark.parametrize("number", in_ci([CASES // 10, CASES], CASES // 10))
def test_no_split_found_by_brute_force_is_better(number: int) -> None:
    """Never over the limit, never below a floor, no pool could grow, and the worst supplied service gets the most."""
    random = Random(13)
    divided = 0
    for _ in range(number):
        size, services, limit = random_case(random)
        feasible = [
            split
            for split in product(*(possible(service, size) for service in services))
            if fits(services, split, size, limit)
        ]  # fmt: skip
        split = sizes(share_out(size, services, limit))
        assert (split is None) == (not feasible)
        if split is None:
            continue
        divided += 1
        assert split in feasible
        assert not [
            other for other in feasible
            if other != split and all(more >= own for more, own in zip(other, split, strict=True))
        ]  # fmt: skip
        assert min(supply(services, split)) == max(min(supply(services, other)) for other in feasible)
    assert number / 4 < divided < number


@pytest.mark.costly
@given(size=st.integers(1, 300), service=SERVICES, limit=LIMITS, more=st.integers(1, 5))
def test_more_instances_never_raise_the_pool(size: int, service: Service, limit: int | None, more: int) -> None:
    of_server = ServerLimit(limit, 0)
    few = sizes(share_out(size, [service], of_server))
    many = sizes(share_out(size, [replace(service, instances=service.instances + more)], of_server))
    assert many is None or (few is not None and many[0] <= few[0])


@pytest.mark.costly
@given(size=st.integers(1, 300), services=st.lists(SERVICES, min_size=1, max_size=3), limit=st.integers(1, 400))
def test_a_larger_limit_never_lowers_the_worst_supply(size: int, services: list[Service], limit: int) -> None:
    small = sizes(share_out(size, services, ServerLimit(limit, 0)))
    large = sizes(share_out(size, services, ServerLimit(limit + 1, 0)))
    assert small is None or (large is not None and min(supply(services, large)) >= min(supply(services, small)))
    if len(services) == 1:
        assert small is None or (large is not None and large[0] >= small[0])


@pytest.mark.costly
@given(size=st.integers(1, 300), service=SERVICES, limit=LIMITS, heavier=st.integers(1, 4))
def test_services_keep_the_order_of_their_weights(size: int, service: Service, limit: int | None, heavier: int) -> None:
    heavy = replace(service, name="heavy", weight=service.weight + heavier)
    for services in ([service, heavy], [heavy, service]):
        pools = share_out(size, services, ServerLimit(limit, 0))
        if pools is not None:
            by_name = {pool.service.name: pool.pool_size for pool in pools}
            assert by_name["heavy"] >= by_name[service.name]


def found(plan: FleetPlan, code: str) -> Mapping[str, Any]:
    """The figures of the only finding with this code."""
    (finding,) = [finding for finding in plan.findings if finding.code == code]
    return dict(finding.items())


def test_a_part_of_an_instance_is_an_instance() -> None:
    """Kubernetes rounds maxSurge up; 7 % of 100 are 7, although 0.07 * 100 is above 7 for a computer."""
    assert Service("shop", 1).pools_in_deploy(0.25) == 2
    assert Service("shop", 100).pools_in_deploy(0.07) == 107
    assert Service("shop", 12, 4, max_instances=30).pools_in_deploy(0.25) == 38 * 4


def test_the_alternatives_of_what_does_not_fit_do_fit() -> None:
    services, limit = [Service("shop", 12, 4, max_instances=30)], ServerLimit(100, 10)
    plan = plan_fleet(33, services, limit)
    assert not plan.pools
    refused = found(plan, "fleet_exceeds_limit")
    assert (refused["needed"], refused["usable"], refused["excess"]) == (152, 90, 62)
    fewer = found(plan, "fleet_fewer_processes")["processes"]
    assert fewer == 2
    assert plan_fleet(33, [services[0].with_processes(fewer)], limit).pools
    assert not plan_fleet(33, [services[0].with_processes(fewer + 1)], limit).pools
    raised = found(plan, "fleet_raise_limit")["variables"]["max_connections"]
    assert plan_fleet(33, services, ServerLimit(raised, 10)).pools
    assert not plan_fleet(33, services, ServerLimit(raised - 1, 10)).pools
    assert found(plan, "fleet_proxy") == {"connections": 33, "clients": 152}


def test_floors_are_named_by_service_and_bound_a_proxy() -> None:
    """2 threads that hold 2 connections each, in 30 processes of a deploy: 61 connections in a proxy."""
    services = [Service("shop", 24, threads=2, connections_per_thread=2), Service("jobs", 2)]
    refused = found(plan_fleet(70, services, ServerLimit(72)), "fleet_exceeds_limit")
    assert (refused["needed"], refused["floors"], refused["services"]) == (30 * 3 + 3, {"shop": 3}, 2)
    for size, is_named in ((61, True), (60, False)):
        codes = [finding.code for finding in plan_fleet(size, services, ServerLimit(72)).findings]
        assert ("fleet_proxy" in codes) == is_named


def test_where_the_limit_decides_the_limit_with_which_the_size_decides_is_named() -> None:
    services, limit = [Service("shop", 12, 4, max_instances=30)], ServerLimit(500)
    plan = plan_fleet(200, services, limit)
    assert found(plan, "fleet_limit")["in_deploy"] == 38 * 4 * 3
    raised = found(plan, "fleet_raise_limit")
    larger = plan_fleet(200, services, ServerLimit(raised["variables"]["max_connections"]))
    assert sizes(larger.pools) == (4,) == tuple(raised["pool_sizes"].values())
    assert found(larger, "fleet_size")["unused"] == 200 - larger.connections
    smaller = found(plan, "fleet_above_size")["pool_sizes"]["shop"]
    assert 30 * 4 * smaller <= 200 < 30 * 4 * (smaller + 1)


def test_an_accounts_own_limit_needs_no_reserve() -> None:
    limit = ServerLimit(500, 10, max_user_connections=40)
    assert sizes(plan_fleet(100, [Service("shop", 4)], limit).pools) == (8,)
    raised = found(plan_fleet(100, [Service("shop", 4)], limit), "fleet_raise_limit")["variables"]
    assert raised == {"max_user_connections": 5 * 25}


def test_the_deadlock_floor_is_that_of_each_process() -> None:
    service = Service("shop", 2, 2, threads=3, connections_per_thread=4)
    plan = plan_fleet(33, [service], ServerLimit(100))
    assert sizes(plan.pools) == (3 * (4 - 1) + 1,)
    assert found(plan, "fleet_floor")["floors"] == {"shop": 10}
    assert service.with_processes(1).floor == 6 * (4 - 1) + 1
    assert not [finding for finding in plan.findings if finding.code == "fleet_fewer_processes"]


def test_no_pool_is_larger_than_its_threads_can_use() -> None:
    plan = plan_fleet(100, [Service("shop", 1, 4, threads=2, connections_per_thread=2)])
    assert sizes(plan.pools) == (4,)
    assert found(plan, "fleet_threads")["connections"] == 16


@pytest.mark.parametrize(
    ("size", "service", "is_alone"),
    [
        (3, Service("shop", 4), True),
        (8, Service("shop", 4), False),
        (1, Service("shop", 1), False),
        (9, Service("shop", 4, threads=1), False),
    ],
)
def test_requests_of_a_process_with_one_connection_wait(size: int, service: Service, is_alone: bool) -> None:
    """Unless the process has a single thread, or the database can use no more."""
    codes = [finding.code for finding in plan_fleet(size, [service]).findings]
    assert ("fleet_pool_of_one" in codes) == is_alone


def test_that_requests_wait_in_each_process_is_said_before_what_an_autoscaler_may_add() -> None:
    plan = plan_fleet(9, [Service("shop", 2, 3, max_instances=20)])
    cautions = [finding.code for finding in plan.findings if finding.severity is Severity.WARNING]
    assert cautions == ["fleet_pool_of_one", "fleet_above_size", "fleet_limit_unknown"]


def test_a_service_beyond_its_weight_is_named() -> None:
    plan = plan_fleet(100, [Service("shop", 12, 4, weight=3), Service("jobs", 2)])
    assert [pool.connections for pool in plan.pools] == [48, 52]
    assert found(plan, "fleet_beyond_weight") == {"service": "jobs", "connections": 52, "by_weight": 25}


@pytest.mark.long
def test_a_fleet_above_the_plateau_is_warned_with_the_loss_of_the_run(poolsize_here: Command) -> None:
    analysis = example("oltp_read_write-mariadb")
    answer = recommend(analysis)
    assert answer.pool_size is not None
    price = {price.pool_size: price.throughput_loss for price in answer.prices}
    for processes, loss in ((64, price[64] - price[answer.pool_size]), (65, None)):
        words = ["--run", str(ROOT / "data/examples/oltp_read_write-mariadb.jsonl"), "--processes", str(processes)]
        findings = json.loads(poolsize_here("fleet", *words, "--json").stdout)["findings"]
        (above,) = [finding["values"] for finding in findings if finding["code"] == "fleet_above_size"]
        assert (above["connections"], above["measured_up_to"]) == (processes, 64)
        assert above["throughput_loss"] == (None if loss is None else pytest.approx(loss))


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["--size", "0"], ["--size", "3", "--run", "x.jsonl"], ["--size", "9", "--instances", "0"],
        ["--size", "9", "--instances", "5", "--max-instances", "4"], ["--size", "9", "--surge", "5"],
        ["--size", "9", "--max-instances", "0"],
        ["--size", "9", "--surge", "200%"], ["--size", "9", "--service", "shop:1-:1:1"],
        ["--size", "9", "--service", "shop:1:1:inf"], ["--size", "9", "--max-connections", "9"],
        ["--size", "9", "--surge", "many"], ["--size", "9", "--service", "shop:1:1"],
        ["--size", "9", "--service", "shop:1:1:0"], ["--size", "9", "--service", "shop:1:x:1"],
        ["--size", "9", "--service", "shop:1:1:1", "--instances", "3"], ["--size", "9", "--max-connections", "0"],
        ["--size", "9", "--service", "shop:1:1:1", "--service", "shop:2:1:1"], ["--size", "9", "--reserve", "-1"],
        ["--size", "9", "--connections-per-thread", "3"],
        ["--size", "9", "--usage-time", "5ms"], ["--usage-time", "5ms", "--service", "shop:1:1:9/s:5ms"],
    ],
)  # fmt: skip
def test_bad_input_is_one_line(poolsize_here: Command, arguments: list[str]) -> None:
    done = poolsize_here("fleet", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("poolsize: error: ")
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)


def test_what_does_not_fit_is_failed_work_with_an_answer(poolsize_here: Command) -> None:
    done = poolsize_here("fleet", "--size", "33", "--instances", "12", "--processes", "4", "--max-connections", "50")
    assert done.returncode == 1
    assert "20 too few" in " ".join(done.stdout.split())


def test_services_of_one_server_share_by_weight(poolsize_here: Command) -> None:
    words = ["--service", "shop:2-4:1:3", "--service", "jobs:1:1:1", "--max-connections", "200", "--json"]
    answer = json.loads(poolsize_here("fleet", "--size", "40", *words).stdout)
    assert [(pool["pool_size"], pool["connections"]) for pool in answer["pools"]] == [(15, 30), (10, 10)]
    assert [pool["connections_in_deploy"] for pool in answer["pools"]] == [5 * 15, 2 * 10]


@pytest.mark.long
@pytest.mark.parametrize("basis", [["--cores", "16"], ["--run", str(ROOT / "data/examples/insert-mariadb.jsonl")]])
def test_recommend_divides_its_answer(poolsize_here: Command, basis: list[str]) -> None:
    answer = json.loads(poolsize_here("recommend", *basis, "--instances", "3", "--processes", "2", "--json").stdout)
    assert answer["fleet"]["size"] == answer["pool_size"]
    (pool,) = answer["fleet"]["pools"]
    assert pool["pool_size"] == max(1, answer["pool_size"] // 6)
    text = poolsize_here("recommend", *basis, "--instances", "3", "--processes", "2", "--why").stdout
    assert f"create_engine(url, pool_size={pool['pool_size']}, max_overflow=0)" in text
    assert f"pool_size={answer['pool_size']}," not in text


@pytest.mark.long
@pytest.mark.parametrize("basis", [["--cores", "4"], ["--run", str(ROOT / "data/examples/insert-mariadb.jsonl")]])
def test_recommend_holds_the_deadlock_floor_in_each_process(poolsize_here: Command, basis: list[str]) -> None:
    words = ["--instances", "2", "--processes", "4", "--app-threads", "8", "--connections-per-thread", "3", "--json"]
    answer = json.loads(poolsize_here("recommend", *basis, *words).stdout)
    assert answer["fleet"]["size"] == answer["pool_size"]
    assert answer["fleet"]["pools"][0]["pool_size"] == 8 * 2 + 1


def test_recommend_needs_instances_for_a_limit(poolsize_here: Command) -> None:
    done = poolsize_here("recommend", "--cores", "8", "--reserve", "3")
    assert (done.returncode, "--instances" in done.stderr) == (2, True)


@pytest.mark.server
def test_a_server_is_asked_for_its_limit(server: PrivateServer, poolsize_here: Command) -> None:
    with connect(database_url(server.url)).cursor() as cursor:
        cursor.execute("SELECT @@max_connections, @@thread_stack, @@net_buffer_length")
        ((max_connections, stack, buffer),) = cursor.fetchall()
    words = ["fleet", "--size", "9", "--url", server.url, "--json"]
    limit = json.loads(poolsize_here(*words).stdout)["limit"]
    assert (limit["max_connections"], limit["max_user_connections"]) == (max_connections, None)
    assert limit["connection_bytes"] == stack + 2 * buffer
    assert json.loads(poolsize_here(*words, "--max-connections", "70").stdout)["limit"]["max_connections"] == 70
    too_many = json.loads(poolsize_here(*words, "--instances", str(max_connections)).stdout)
    raised = too_many["findings"][-1]["values"]
    assert raised["memory_bytes"] == raised["more"] * limit["connection_bytes"]


def test_python_raises_what_the_command_prints() -> None:
    with pytest.raises(BadInput, match="weight"):
        Service("shop", 1, weight=0)


SERVICE_FILE = """
[[service]]
name = "shop"
instances = 12
max_instances = 30
processes = 4
weight = 3

[[service]]
name = "jobs"
instances = 2
"""


def test_a_file_of_services_is_the_same_as_the_options(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "services.toml").write_text(SERVICE_FILE)
    words = ["fleet", "--size", "100", "--max-connections", "500"]
    by_file = poolsize_here(*words, "--services", "services.toml")
    by_options = poolsize_here(*words, "--service", "shop:12-30:4:3", "--service", "jobs:2:1:1")
    assert by_file.returncode == 0
    assert by_file.stdout == by_options.stdout


def test_each_service_of_a_file_has_its_own_threads(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "services.toml").write_text(f"{SERVICE_FILE}threads = 4\nconnections_per_thread = 2\n")
    done = poolsize_here("fleet", "--size", "100", "--services", "services.toml", "--why")
    assert "Deadlock floor of each process: jobs 5." in done.stdout
    assert ["jobs", "2", "1", "8", "16"] in [line.split()[:5] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("weight = 3", "wieght = 3", "service 1: wieght is unknown; did you mean weight?"),
        ("weight = 3", "hats = 3", "service 1: hats is unknown: the keys are name, instances"),
        ("weight = 3", 'weight = "many"', "service 1: weight 'many': "),
        ("weight = 3", "weight = 0", "service 1: weight 0 of shop: a weight is a number above 0"),
        ("instances = 2", "", "service 2: instances is missing"),
        ("[[service]]", "[[services]]", "write a table [[service]] for each service"),
        ("[[service]]", "[[service", "not TOML: "),
        ('name = "jobs"', 'name = "shop"', "shop: two services have this name"),
    ],
)
def test_a_wrong_file_of_services_is_refused(
    poolsize_here: Command, tmp_path: Path, old: str, new: str, line: str
) -> None:
    (tmp_path / "services.toml").write_text(SERVICE_FILE.replace(old, new))
    done = poolsize_here("fleet", "--size", "100", "--services", "services.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--instances", "3"], "leave out --instances"),
        (["--service", "shop:1:1:1"], "either by --service, or by --services FILE"),
        (["--app-threads", "3"], "names the threads of each service"),
    ],
)
def test_a_file_of_services_stands_alone(poolsize_here: Command, tmp_path: Path, words: list[str], line: str) -> None:
    (tmp_path / "services.toml").write_text(SERVICE_FILE)
    done = poolsize_here("fleet", "--size", "100", "--services", "services.toml", *words)
    assert (done.returncode, line in done.stderr) == (2, True)


def test_the_help_of_the_options_names_the_defaults_of_their_records() -> None:
    defaults = {"instances": 1, "processes": Service.processes, "reserve": ServerLimit.reserve}
    shown = {name: str(value) for name, value in defaults.items()} | {"surge": f"{ServerLimit.surge:.0%}"}
    assert {name: HELP[name].partition("[default: ")[2].rstrip("]") for name in shown} == shown
