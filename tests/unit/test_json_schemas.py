"""The JSON Schemas of --json. The fixtures `poolsize` and `poolsize_here` hold all outputs of other tests to them."""

import json
from typing import Any

import pytest
from click import Context
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator, ValidationError

from poolsize.answer.fleet import ServerLimit, Service
from poolsize.answer.fleet_from_traffic import plan_fleet_for
from poolsize.answer.from_traffic import recommend_for
from poolsize.answer.recommendation import from_formula
from poolsize.answer.traffic import Supply, Traffic
from poolsize.commands import cli
from poolsize.formula import starting_point
from poolsize.present.text.json_text import json_text
from poolsize.present.text.recommendation import recommendation_values
from poolsize.present.text.traffic import traffic_fleet_values, traffic_values
from poolsize.traffic.usage_phases import UsageTimes
from tests.conftest import EXAMPLES, Command, require_schema
from tests.schemas import COMMANDS, schema_of

OF_RUN = (
    "analyze {}", "recommend --run {}", "recommend --run {} --usage-time 30ms --current 4", "predict {} --cores 16",
    "recommend --run {} --instances 3 --processes 2", "recommend --run {} --rate 20/s --usage-time 15ms",
    "fleet --run {} --instances 4", "config --for hikaricp --run {}",
)  # fmt: skip


def test_every_command_with_json_has_a_schema() -> None:
    context = Context(cli)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    with_json = {name for name, each in commands.items() if each and any("--json" in o.opts for o in each.params)}
    assert with_json == {*COMMANDS}


def test_a_schema_allows_a_later_key_and_a_test_does_not(poolsize_here: Command) -> None:
    answer = json.loads(poolsize_here("recommend", "--cores", "8", "--json").stdout)
    schema = Draft202012Validator(schema_of("recommend"))
    assert schema.is_valid(answer | {"later": 1})
    without_range = {name: value for name, value in answer.items() if name != "range"}
    for wrong in (answer | {"later": 1}, answer | {"pool_size": None}, without_range):
        with pytest.raises(ValidationError):
            require_schema(("recommend", "--json"), json.dumps(wrong))
    assert not any(map(schema.is_valid, (answer | {"pool_size": None}, without_range)))


@pytest.mark.experiment
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_answers_of_a_run_fit_their_schemas(name: str, poolsize_here: Command) -> None:
    for command in OF_RUN:
        assert poolsize_here(*command.format(EXAMPLES[name]).split(), "--json").stdout.startswith("{")


def require(command: str, values: Any) -> None:
    require_schema((command, "--json"), json_text(values))


@pytest.mark.costly
@given(
    st.integers(1, 512), st.integers(0, 24), st.none() | st.floats(0, 1),
    st.just((None, None)) | st.tuples(st.integers(1, 50), st.integers(1, 9)),
)  # fmt: skip
def test_every_answer_of_the_formula_fits_the_schema(
    cores: int, disks: int, hit_rate: float | None, of_threads: tuple[int | None, int | None]
) -> None:
    threads, each = of_threads
    start = starting_point(
        cores, disks=disks, cache_hit_rate=hit_rate, app_threads=threads, connections_per_thread=each
    )
    require("recommend", recommendation_values(from_formula(start)))


@pytest.mark.long
@settings(max_examples=20)
@given(
    st.floats(0.1, 1e3), st.floats(0.1, 1e2), st.integers(1, 20), st.integers(1, 8), st.floats(1, 5),
    st.none() | st.integers(1, 200), st.none() | st.floats(1.1, 100), st.none() | st.integers(500, 10_000),
)  # fmt: skip
def test_every_answer_for_a_traffic_fits_the_schemas(
    rate: float,
    usage_ms: float,
    instances: int,
    processes: int,
    burst: float,
    supply: int | None,
    patience: float | None,
    most: int | None,
) -> None:
    """Also where the database can't keep up, and where the waits have no end."""
    service = Service("shop", instances, processes)
    traffic = Traffic(rate, UsageTimes(usage_ms), service, burst, wait_limit_ms=patience and patience * usage_ms)
    usable, limit = None if supply is None else Supply(supply), ServerLimit(most)
    require("recommend", traffic_values(recommend_for(traffic, usable, limit)))
    require("fleet", traffic_fleet_values(plan_fleet_for([traffic], usable, limit)))
