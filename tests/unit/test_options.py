"""The declaration of a sweep's options: everything that is made from it has every option, and no text is lost."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from poolsize.answer.price import LOAD
from poolsize.command_line.sweep_options import in_flags
from poolsize.commands.sweep import sweep
from poolsize.errors import BadInput
from poolsize.facts.ssl_mode import SslMode
from poolsize.predict.command import predict
from poolsize.runs.plan import PoolKind, Search, SweepPlan
from poolsize.sweep.option import Group
from poolsize.sweep.options import OPTIONS, SweepOptions, with_flags, words_of
from poolsize.sweep.planning import TYPES, options_of, plan_for
from poolsize.sweep.readers import OWN_SCHEMA, RESERVED_SCHEMAS, reserved_by
from tests.conftest import ROOT, Command

PATHS = st.from_regex(r"[a-z][a-z0-9./]{0,9}", fullmatch=True).map(Path)
TEXTS = st.from_regex(r"[a-z0-9=:/@-]{1,9}", fullmatch=True).filter(
    lambda text: text not in RESERVED_SCHEMAS | {OWN_SCHEMA}
)
VALUES: Mapping[Any, st.SearchStrategy[Any]] = {
    int | None: st.integers(0, 10**9),
    str | None: TEXTS,
    Path | None: PATHS,
    PoolKind | None: st.sampled_from(PoolKind),
    SslMode | None: st.sampled_from(SslMode),
    bool | None: st.just(True),
    tuple[int, ...] | None: st.sets(st.integers(1, 99), min_size=1).map(lambda values: tuple(sorted(values))),
    Mapping[str, str] | None: st.dictionaries(
        st.from_regex(r"[a-z][a-z_]{0,9}[a-z]", fullmatch=True).filter(lambda name: not reserved_by(name)),
        TEXTS,
        min_size=1,
    ),
}
HINTS = get_type_hints(SweepOptions, localns={"Path": Path, "PoolKind": PoolKind})


def limits(hint: Any) -> dict[str, Any]:
    """Kind of a type's bound (ge, gt, le, lt) -> its limit; those of its items, where it has many."""
    schema = TypeAdapter(hint).json_schema()
    (number, *_) = schema.get("anyOf", [schema])
    number = number.get("items", number)
    kinds = {"minimum": "ge", "exclusiveMinimum": "gt", "maximum": "le", "exclusiveMaximum": "lt"}
    return {kind: number[key] for key, kind in kinds.items() if key in number}


def limits_of(name: str) -> dict[str, Any]:
    """Kind of an option's bound -> its limit."""
    return limits(TYPES.get(name, HINTS[name]))


def values_of(name: str) -> st.SearchStrategy[Any]:
    """The values that an option takes."""
    limits = limits_of(name)
    if HINTS[name] == int | None and limits:
        return st.integers(limits["ge"], limits["le"])
    if HINTS[name] == float | None:
        least, most = (limits.get(closed, limits.get(open_)) for closed, open_ in (("ge", "gt"), ("le", "lt")))
        return st.floats(
            least, most, exclude_min="gt" in limits, exclude_max="lt" in limits, allow_subnormal=False
        ).map(lambda value: value + 0.0)  # -0.0 reads as 0.0
    return VALUES[HINTS[name]]


@pytest.mark.parametrize("name", OPTIONS)
def test_the_command_has_every_option_under_its_fields_name(name: str) -> None:
    (parameter,) = [parameter for parameter in sweep.params if parameter.name == name]
    option = OPTIONS[name]
    assert parameter.opts == [option.flag]
    assert parameter.envvar == option.variable
    assert getattr(parameter, "help", None) == option.usage


def listed(help_text: str) -> list[str]:
    """The flags that a help lists."""
    return re.findall(r"^  (?:-h, )?(--[a-z0-9-]+)", help_text, re.MULTILINE)


def test_the_help_lists_every_option_once_and_leaves_those_for_experts_to_help_all(poolsize_here: Command) -> None:
    short, full = poolsize_here("sweep", "--help"), poolsize_here("sweep", "--help-all")
    expert = {option.flag for option in OPTIONS.values() if option.group is Group.EXPERT}
    assert expert >= {"--interval", "--precision", "--error-budget", "--pool", "--wait-for-server", "--seed"}
    assert (short.returncode, full.returncode, short.stderr, full.stderr) == (0, 0, "", "")
    assert len(listed(full.stdout)) == len(set(listed(full.stdout)))
    assert set(listed(full.stdout)) == {parameter.opts[-1] for parameter in sweep.params} | {"--help"}
    assert set(listed(full.stdout)) - set(listed(short.stdout)) == expert
    assert "poolsize sweep --help-all" in short.stdout
    assert len(short.stdout.splitlines()) <= 62
    shown = [group.value for group in Group if f"\n{group.value}:\n" in full.stdout]
    assert shown == [group.value for group in Group]


@pytest.mark.long
def test_locust_has_every_option_that_it_should() -> None:
    """In a process of its own, for Locust patches the standard library."""
    program = (
        "from poolsize.locust import PoolUser\n"
        "from locust.argument_parser import get_parser\n"
        "for action in get_parser()._actions:\n"
        "    for flag in action.option_strings:\n"
        "        print(flag, action.dest, action.container.title == 'poolsize')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    actions = {flag: (dest, ours) for flag, dest, ours in map(str.split, done.stdout.splitlines())}
    for name, option in OPTIONS.items():
        expected = (option.locusts_own or name, str(option.locusts_own is None)) if option.in_locust else None
        assert actions.get(option.flag) == expected


@pytest.mark.long
@pytest.mark.parametrize("name", OPTIONS)
@given(data=st.data())
def test_a_value_is_read_again_as_it_was_written(name: str, data: st.DataObject) -> None:
    option = OPTIONS[name]
    value = data.draw(values_of(name))
    texts = option.write(value)
    assert option.read(name, texts) == value
    assert getattr(SweepOptions.parse({name: list(texts) if option.repeatable else texts[0]}), name) == value


@pytest.mark.parametrize(
    ("words", "way_out"),
    [
        ("--disks -1", "give at least 0"),
        ("--disks 100001", "give at most 100,000"),
        ("--cores 0", "give at least 1"),
        ("--seed -1", "give at least 0"),
        ("--seed 1764126827000000000", "give at most 1,000,000,000,000,000"),
        ("--interval inf", "give at most 1,000"),
        ("--interval nan", "give at most 1,000"),
        ("--interval 1", "give more than 1"),
        ("--rate nan", "give a rate per second, such as 400/s"),
        ("--rate 1e13", "give at most 1,000,000"),
        ("--users 0", "give at least 1"),
        ("--repeats 0", "give at least 1"),
        ("--budget 0", "give at least 1s"),
        ("--budget 1e30d", "give at most 31,536,000s"),
        ("--step-time 0", "give at least 1s"),
        ("--warm-up 3h", "give at most 7,200s"),
        ("--think-time 2d", "give at most 86,400,000ms"),
        ("--pool-timeout 0s", "give more than 0s"),
        ("--max-p95 1e300ms", "give at most 86,400,000ms"),
        ("--wait-for-server 2d", "give at most 86,400s"),
        ("--precision nan", "give a share"),
    ],
)
def test_a_value_that_no_sweep_has_is_refused_with_its_limit(poolsize_here: Command, words: str, way_out: str) -> None:
    """The bounds of an option are those of the field of the run that it sets."""
    for more in (["--replay", "cisco"], ["--url", "mysql://u:p@127.0.0.1:1/"]):
        done = poolsize_here("sweep", *more, *words.split())
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"poolsize: error: {words}: {way_out}")
        assert done.stderr.count("\n") == 1


def test_an_option_has_the_type_of_the_field_that_it_sets() -> None:
    for record in (SweepPlan, Search):
        hints = get_type_hints(record)
        for name in {field.name for field in fields(record)} & set(OPTIONS):
            assert hints[name] in {HINTS[name], *HINTS[name].__args__}, name


def test_the_options_of_a_plan_make_it_again() -> None:
    for options in (
        SweepOptions(cores=4),
        SweepOptions(cores=4, budget_seconds=90, interval=2.0, users=20, warm_up_seconds=4, seed=7),
        SweepOptions(cores=4, sizes=(1, 8), think_time_ms=0.5, precision=0.02, verify=(70,), repeats=3),
        SweepOptions(cores=4, verify=(50, 90)),
        SweepOptions(cores=4, rate=500.0, max_p95_ms=20.0, max_p99_ms=50.5),
        SweepOptions(
            cores=4, rate=500.0, pool=PoolKind.SQLALCHEMY, error_budget=0.5, pool_timeout_seconds=0.25, step_seconds=20
        ),
    ):
        plan = plan_for(options, "scan")
        assert plan_for(SweepOptions(cores=4, **options_of(plan)), "scan") == plan
        assert {"--budget", "--pool-sizes"} & set(words_of(options_of(plan)))


def test_a_search_ends_with_an_open_loop_and_what_has_none_does_not() -> None:
    assert plan_for(SweepOptions(cores=4), "scan").verify == (round(100 * LOAD),)
    for options in (SweepOptions(no_verify=True), SweepOptions(sizes=(1, 4)), SweepOptions(rate=100.0)):
        assert plan_for(options, "scan").verify == ()
    assert plan_for(SweepOptions(), "shop", pools=4).verify == plan_for(SweepOptions(), "cisco", (1, 8)).verify == ()
    with pytest.raises(BadInput, match="`verify` 70 and `no_verify` contradict each other"):
        plan_for(SweepOptions(verify=(70,), no_verify=True), "scan")
    with pytest.raises(BadInput, match=r"`budget_seconds` 19s: no step fits in it beside 1 step in an open loop \("):
        plan_for(SweepOptions(budget_seconds=19), "scan")
    assert plan_for(SweepOptions(budget_seconds=19, no_verify=True), "scan").verify == ()


def test_a_refusal_repeats_what_was_typed_and_else_what_would_be() -> None:
    assert SweepOptions.parse({"budget_seconds": "5m"}).named("budget_seconds") == "`budget_seconds` 5m"
    assert SweepOptions(budget_seconds=300).named("budget_seconds") == "`budget_seconds` 300s"
    with pytest.raises(BadInput, match="`sizes` 1,x: 'x' is not a pool size"):
        SweepOptions.parse({"sizes": "1,x"})
    with pytest.raises(
        BadInput, match=r"^`budget_seconds` 300s: it is for a search, and `sizes` or `rate` make a grid"
    ):
        plan_for(SweepOptions(budget_seconds=300, sizes=(1,)), "scan")


def test_the_command_line_names_the_flag_of_a_parameter_and_leaves_other_names_alone() -> None:
    assert with_flags("`step_seconds` 0, `sizes`: table `t1`") == "--step-time 0, --pool-sizes: table `t1`"
    assert in_flags("`round_trip_ms` 5ms; `resume` a.jsonl", predict) == "--round-trip 5ms; --resume a.jsonl"
    assert in_flags("`round_trip_ms` 5ms", sweep) == "`round_trip_ms` 5ms"


FLAGS_MAY_STAND_IN = (
    "calculator/command.py",
    "capture/",
    "command_line/",
    "commands/",
    "comparison/",
    "predict/",
    "experiments/",
    "explanation/",
    "observe/",
    "pool_config/",
    "present/",
    "service_under_test/command.py",
    "service_under_test/run_application.py",
    "locust/lead.py",
    "sweep/options.py",
)
OF_OTHER_PROGRAMS = {
    "--no-defaults", "--initialize-insecure", "--datadir=", "--force", "--skip-test-db", "--version",
    "--auth-root-authentication-method=socket", "--user=root", "--report-interval=1", "--percentile=95", "--upgrade",
    "--quiet", "--batch-mode", "--file", "--release", "--csv", "--number-of-queries", "--vus",
    "--summary-export",
}  # fmt: skip
"""Flags of mysqld, mariadb-install-db, sysbench, mysqlslap, k6, pip, Maven and javac."""


def literals(path: Path) -> Iterator[str]:
    """The strings of a module, the fixed parts of f-strings included, without the docstrings."""
    tree = ast.parse(path.read_text())
    statements = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in statements:
            yield node.value


@pytest.mark.long
def test_only_the_command_line_and_what_is_shown_name_flags() -> None:
    package = ROOT / "poolsize"
    for path in package.rglob("*.py"):
        place = path.relative_to(package).as_posix()
        if place.startswith(FLAGS_MAY_STAND_IN):
            continue
        words = [word.strip("(),;:") for text in literals(path) for word in text.split()]
        flags = {word for word in words if word.startswith("--") and word[2:3].isalpha()}
        assert flags <= OF_OTHER_PROGRAMS, place
