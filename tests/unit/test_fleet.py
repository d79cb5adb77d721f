"""A fleet's pools: against brute force, the laws that any fair division keeps, and the command's answers."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import ceil
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize import recommend
from poolsize.answer.finding import Code
from poolsize.answer.fleet import ServerLimit, Service, ServicePool, share_out
from poolsize.answer.fleet_plan import FleetPlan, plan_fleet
from poolsize.errors import BadInput
from poolsize.target.connection import connect, database_url
from poolsize.target.private_server import PrivateServer
from tests.conftest import ROOT, Command, example

CASES = 10_000
LIMITS = st.none() | st.integers(1, 400)
SERVICES = st.builds(
    Service,
    name=st.just("shop"),
    instances=st.integers(1, 6),
    processes=st.integers(1, 4),
    weight=st.integers(1, 5).map(float),
    max_instances=st.just(0),
    floor=st.integers(1, 3),
)


def sizes(pools: Sequence[ServicePool] | None) -> tuple[int, ...] | None:
    return None if pools is None else tuple(pool.pool_size for pool in pools)


def moments(service: Service, surge: float) -> Iterator[int]:
    """The instances that run at each moment: at every number the autoscaler may set, before and during a deploy."""
    for instances in range(service.instances, service.max_instances + 1):
        yield from range(instances, instances + ceil(round(instances * surge, 9)) + 1)


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
        services.append(
            Service(
                f"service {place}", instances, random.randint(1, 3), float(random.randint(1, 4)),
                instances + random.randint(0, 2), random.randint(1, 2),
            )
        )  # fmt: skip
    limit = ServerLimit(random.choice([None, random.randint(1, 60)]), random.randint(0, 5), random.choice([0, 0.25, 1]))
    return random.randint(1, 30), services, limit


def test_no_split_found_by_brute_force_is_better() -> None:
    """Never over the limit, never below a floor, no pool could grow, and the worst supplied service gets the most."""
    random = Random(13)
    divided = 0
    for _ in range(CASES):
        size, services, limit = random_case(random)
        feasible = [
            split
            for split in product(*(range(service.floor, max(size // service.pools, service.floor) + 1)
                                   for service in services))
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
    assert CASES / 4 < divided < CASES


@given(size=st.integers(1, 300), service=SERVICES, limit=LIMITS, more=st.integers(1, 5))
def test_more_instances_never_raise_the_pool(size: int, service: Service, limit: int | None, more: int) -> None:
    of_server = ServerLimit(limit)
    few = sizes(share_out(size, [service], of_server))
    many = sizes(share_out(size, [replace(service, instances=service.instances + more, max_instances=0)], of_server))
    assert many is None or (few is not None and many[0] <= few[0])


@given(size=st.integers(1, 300), services=st.lists(SERVICES, min_size=1, max_size=3), limit=st.integers(1, 400))
def test_a_larger_limit_never_lowers_the_worst_supply(size: int, services: list[Service], limit: int) -> None:
    small = sizes(share_out(size, services, ServerLimit(limit)))
    large = sizes(share_out(size, services, ServerLimit(limit + 1)))
    assert small is None or (large is not None and min(supply(services, large)) >= min(supply(services, small)))
    if len(services) == 1:
        assert small is None or (large is not None and large[0] >= small[0])


@given(size=st.integers(1, 300), service=SERVICES, limit=LIMITS, heavier=st.integers(1, 4))
def test_services_keep_the_order_of_their_weights(size: int, service: Service, limit: int | None, heavier: int) -> None:
    heavy = replace(service, name="heavy", weight=service.weight + heavier)
    for services in ([service, heavy], [heavy, service]):
        pools = share_out(size, services, ServerLimit(limit))
        if pools is not None:
            by_name = {pool.service.name: pool.pool_size for pool in pools}
            assert by_name["heavy"] >= by_name[service.name]


def codes(plan: FleetPlan) -> set[Code]:
    return {finding.code for finding in plan.findings}


def test_a_third_of_an_instance_more_is_an_instance_more() -> None:
    """Kubernetes rounds maxSurge up; 10 % of 30 are 3, although 0.1 * 30 is above 3 for a computer."""
    assert Service("shop", 1).most_pools(0.25) == 2
    assert Service("shop", 30).most_pools(0.1) == 33
    assert Service("shop", 12, 4, max_instances=30).most_pools(0.25) == 38 * 4


def test_a_fleet_above_the_plateau_is_warned_with_its_loss() -> None:
    size = recommend(example("oltp_read_write-mariadb")).pool_size
    assert size is not None
    plan = plan_fleet(size, [Service("shop", 8, 4)], loss=lambda connections: 0.25 if connections == 32 else None)
    (above,) = [finding for finding in plan.findings if finding.code is Code.FLEET_ABOVE_SIZE]
    assert above.values == {"connections": 32, "size": size, "throughput_loss": 0.25, "at_most": False}


def test_the_alternatives_of_what_does_not_fit_do_fit() -> None:
    services, limit = [Service("shop", 12, 4, max_instances=30)], ServerLimit(100, 10)
    plan = plan_fleet(33, services, limit)
    assert not plan.pools
    found = {finding.code: finding.values for finding in plan.findings}
    refused = found[Code.FLEET_EXCEEDS_LIMIT]
    assert (refused["needed"], refused["usable"], refused["excess"]) == (152, 90, 62)
    fewer = found[Code.FLEET_FEWER_PROCESSES]["processes"]
    assert fewer == 2
    assert plan_fleet(33, [replace(services[0], processes=fewer)], limit).pools
    assert not plan_fleet(33, [replace(services[0], processes=fewer + 1)], limit).pools
    raised = found[Code.FLEET_RAISE_LIMIT]["max_connections"]
    assert plan_fleet(33, services, ServerLimit(raised, 10)).pools
    assert not plan_fleet(33, services, ServerLimit(raised - 1, 10)).pools


def test_the_deadlock_floor_is_that_of_each_process() -> None:
    plan = plan_fleet(33, [Service("shop", 2, 2, floor=10)], ServerLimit(100))
    assert sizes(plan.pools) == (10,)
    assert Code.FLEET_SMALLEST_POOLS in codes(plan)


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["--size", "0"], ["--size", "3", "--run", "x.jsonl"], ["--size", "9", "--instances", "0"],
        ["--size", "9", "--instances", "5", "--max-instances", "4"], ["--size", "9", "--surge", "5"],
        ["--size", "9", "--surge", "many"], ["--size", "9", "--service", "shop:1:1"],
        ["--size", "9", "--service", "shop:1:1:0"], ["--size", "9", "--service", "shop:1:x:1"],
        ["--size", "9", "--service", "shop:1:1:1", "--instances", "3"], ["--size", "9", "--max-connections", "0"],
        ["--size", "9", "--service", "shop:1:1:1", "--service", "shop:2:1:1"], ["--size", "9", "--reserve", "-1"],
        ["--size", "9", "--app-threads", "3"],
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
    assert [pool["max_connections"] for pool in answer["pools"]] == [5 * 15, 2 * 10]


@pytest.mark.parametrize("basis", [["--cores", "16"], ["--run", str(ROOT / "data/examples/insert-mariadb.jsonl")]])
def test_recommend_divides_its_answer(poolsize_here: Command, basis: list[str]) -> None:
    answer = json.loads(poolsize_here("recommend", *basis, "--instances", "3", "--processes", "2", "--json").stdout)
    assert answer["fleet"]["size"] == answer["pool_size"]
    (pool,) = answer["fleet"]["pools"]
    assert pool["pool_size"] == max(1, answer["pool_size"] // 6)
    text = poolsize_here("recommend", *basis, "--instances", "3", "--processes", "2").stdout
    assert f"create_engine(url, pool_size={pool['pool_size']}, max_overflow=0)" in text
    assert f"pool_size={answer['pool_size']}," not in text


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
    assert (limit["max_connections"], limit["variable"]) == (max_connections, "max_connections")
    assert limit["connection_bytes"] == stack + 2 * buffer
    assert json.loads(poolsize_here(*words, "--max-connections", "7").stdout)["limit"]["max_connections"] == 7
    too_many = json.loads(poolsize_here(*words, "--instances", str(max_connections)).stdout)
    raised = too_many["findings"][-1]["values"]
    assert raised["memory_bytes"] == raised["more"] * limit["connection_bytes"]


def test_python_raises_what_the_command_prints() -> None:
    with pytest.raises(BadInput, match="weight"):
        Service("shop", 1, weight=0)
