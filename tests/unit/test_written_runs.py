"""Nothing that poolsize writes is refused by poolsize: whatever the options are, and whatever was measured."""

import io
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import fields, replace
from math import inf, nan
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from poolsize.commands import cli
from poolsize.errors import BadInput, PoolsizeError, WorkFailed
from poolsize.facts.status import increases_per_second
from poolsize.runs.check import Check
from poolsize.runs.plan import MeasuredApplication, Search, SweepPlan
from poolsize.runs.run import Calibration, CheckResult, Setting
from poolsize.runs.store import RunWriter, load_run
from poolsize.sweep import replay
from poolsize.sweep.loop import sweep
from poolsize.sweep.opening import HARMLESS, Workload, new_setting
from poolsize.sweep.options import OPTIONS, SweepOptions, words_of
from poolsize.sweep.planning import plan_for
from tests.conftest import a_run
from tests.unit.test_options import limits, limits_of, values_of

RUN = a_run({1: 100, 2: 200})
MOST_STEPS = 25
READERS = (
    "analyze a.jsonl", "analyze a.jsonl --json", "recommend --run a.jsonl", "recommend --run a.jsonl --json",
    "report a.jsonl --output a.html", "report a.jsonl --output a.md", "predict a.jsonl --users 8",
    "compare a.jsonl b.jsonl", "fleet --run a.jsonl --instances 2", "config --for hikaricp --run a.jsonl",
)  # fmt: skip


class Enough(Exception):
    """A search has measured as much as a test needs."""


@contextmanager
def cut_off() -> Iterator[None]:
    """Within the context, a replay ends after some steps, as if it were killed."""

    def limited(run: Any, notes: Any, generator: Any, writer: Any, on_event: Any) -> Any:
        measured = 0
        append = writer.append

        def counted(step: Any) -> None:
            nonlocal measured
            append(step)
            if (measured := measured + 1) == MOST_STEPS:
                raise Enough

        writer.append = counted
        return sweep(run, notes, generator, writer, on_event)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay, "sweep", limited)
        yield


def refusal(words: list[str]) -> str:
    """Run a command in this process, and return its error; any other exception is a fault of the command's."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            cli.main(words, standalone_mode=False)
        except SystemExit as end:
            if end.code not in {0, 1}:
                raise
        except Enough:
            pass
        except PoolsizeError as error:
            return str(error)
    return ""


def edges(name: str) -> st.SearchStrategy[Any]:
    """The values that an option takes; often the first and the last of them."""
    ends = [limit for kind, limit in limits_of(name).items() if kind in {"ge", "le"}]
    is_number = ends and name not in {"sizes", "verify"}
    return st.one_of(values_of(name), st.sampled_from(ends)) if is_number else values_of(name)


REPLAYED = [name for name, option in OPTIONS.items() if option.replayed and limits_of(name)]
SIZES = st.sets(st.integers(1, 10), min_size=1, max_size=3).map(lambda sizes: tuple(sorted(sizes)))


@st.composite
def replays(draw: st.DrawFn) -> list[str]:
    """The words of a replay with some of its options, each with any value that it takes."""
    names = draw(st.sets(st.sampled_from(REPLAYED), max_size=4))
    values: dict[str, Any] = {name: draw(SIZES if name == "sizes" else edges(name)) for name in sorted(names)}
    curve = draw(st.sampled_from(["cisco", "mariadb_oltp_ro"]))
    return ["sweep", "--replay", curve, "--output", "a.jsonl", *words_of(values)]


@pytest.mark.costly
@pytest.mark.parametrize(
    "examples",
    [
        pytest.param(1, marks=pytest.mark.long),
        pytest.param(60, marks=[pytest.mark.experiment, pytest.mark.timeout(3600)]),
    ],
)
def test_every_command_reads_what_a_replay_wrote(examples: int) -> None:
    """Whatever its options, also a run that was cut off, and once it was resumed."""

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(words=replays())
    def reads(words: list[str]) -> None:
        with tempfile.TemporaryDirectory() as folder, chdir(folder), cut_off():
            refused = refusal(words)
            run = Path("a.jsonl")
            assert "damaged" not in refused
            if not run.exists():
                assert refused
                return
            load_run(run)
            lines = run.read_text().splitlines(keepends=True)
            shutil.copy(run, "b.jsonl")
            for command in READERS:
                assert_reads(command)
            run.write_text("".join(lines[:2]))
            for command in ("analyze a.jsonl", "sweep --resume a.jsonl", *READERS):
                assert_reads(command)

    reads()


def assert_reads(command: str) -> None:
    refused = refusal(command.split())
    for sign in ("damaged", ": line ", "Traceback"):
        assert sign not in refused, (command, refused)


PLANNED = [name for name in OPTIONS if limits_of(name) or name == "pool"]
TEXTS = st.text(max_size=9)


@st.composite
def planned(draw: st.DrawFn) -> SweepOptions:
    """Options of a sweep of a server, each with any value that it takes."""
    names = draw(st.sets(st.sampled_from(PLANNED), max_size=6))
    return SweepOptions(**{name: draw(edges(name)) for name in sorted(names)})


@pytest.mark.long
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(
    options=planned(), own_path=st.none() | TEXTS, schema=st.none() | TEXTS,
    server_options=st.dictionaries(st.sampled_from(sorted(HARMLESS)), TEXTS, max_size=3),
)  # fmt: skip
def test_the_plan_of_a_sweep_is_read_as_it_was_written(
    options: SweepOptions, own_path: str | None, schema: str | None, server_options: Mapping[str, str]
) -> None:
    """Of every option that a sweep takes; of texts, all but the control characters."""
    try:
        plan = plan_for(options, "scan")
    except BadInput:  # of options that contradict each other
        return
    workload = Workload("scan", own_path, "0" * 64)
    setting = replace(new_setting(options, plan, workload, server_options=server_options), schema=schema)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        with RunWriter(path, setting):
            pass
        read = load_run(path).setting
    assert replace(read, own_workload=own_path, schema=schema, server_options=server_options) == setting
    for text, written in ((read.own_workload, own_path), (read.schema, schema)):
        assert (text is None) == (written is None)
        assert text is None or text.isprintable()


@pytest.mark.parametrize("absurd", [inf, -inf, nan, 1e300, 1e16, -1.0])
def test_a_figure_that_a_server_made_up_is_stored_as_not_read(absurd: float) -> None:
    before = {"Questions": 1.0, "Connections": 1.0}
    after = {"Questions": absurd, "Connections": 3.0, "Threads_running": absurd}
    assert increases_per_second(before, after, 1.0) == {"Connections": 2.0}
    assert increases_per_second({"Questions": 0.0}, {"Questions": 1e15}, 1e-3) == {}


@pytest.mark.parametrize(
    "changes",
    [{"gap_ms": nan}, {"p95_ms": (inf,) * 11}, {"throughput": (10**10,) * 11}, {"started": "yesterday"},
     {"server": {"Questions": (1.0,)}}, {"sections": {"total": {"p50": (1.0,)}}}, {"pool_size": 0}, {"users": -1},
     {"server": {"Questions": (1e16,) * 11}}, {"errors": {"x" * 10_001: (1,) * 11}}, {"programs": {"x": inf}}],
)  # fmt: skip
def test_a_step_that_no_file_may_hold_can_not_be_made(changes: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        replace(RUN.steps[1], **changes)


def test_a_record_names_its_wrong_field_when_it_is_made() -> None:
    """What a server says of itself may be absurd, and a clock may be wrong."""
    assert RUN.setting.server
    with pytest.raises(BadInput, match="`max_connections` 1000000000000000000000000000000: give at most"):
        replace(RUN.setting.server, max_connections=10**30)
    with pytest.raises(BadInput, match=r"`created` '2300-.*': .*give a moment from 1970 to 2199"):
        replace(RUN.setting, created="2300-01-01T00:00:00+00:00")
    with pytest.raises(BadInput, match="`loop_us` nan: give at most"):
        Calibration(nan, 1.0)
    with pytest.raises(BadInput, match="`instances` 1000000000000000000000000000000: give at most 1,000,000"):
        MeasuredApplication("a.toml", "0" * 64, "http://h", True, instances=10**30)
    with pytest.raises(BadInput, match="`values` nan: "):
        CheckResult(Check.ERRORS, True, {"share": nan})


@pytest.mark.costly
def test_a_line_that_is_too_long_to_be_read_is_not_written(tmp_path: Path) -> None:
    """The sweep ends with one line, and the steps before it stay readable."""
    path = tmp_path / "a.jsonl"
    with RunWriter(path, RUN.setting) as writer:
        writer.append(RUN.steps[0])
        with pytest.raises(WorkFailed, match="the run can't be stored: the line has more than 100,000"):
            writer.append(replace(RUN.steps[1], programs={str(number): 1.0 for number in range(100_001)}))
    assert load_run(path).steps == RUN.steps[:1]


OUTSIDE: Mapping[type, Mapping[str, tuple[Any, ...]]] = {
    SweepPlan: {
        "users": (0, 10**7), "sizes": ((0,), (10**6,)), "step_seconds": (0, 10**5), "seed": (-1, 10**16),
        "rate": (0.0, nan, inf, 1e13), "think_time_ms": (-1.0, nan, inf), "pool_timeout_seconds": (0.0, nan, inf),
        "precision": (0.0, 1.0, nan), "error_budget": (0.0, 1.0, nan), "verify": ((0,), (100,)), "attempts": (0,),
        "max_p95_ms": (0.0, nan, inf), "max_p99_ms": (0.0, nan, inf), "repeats": (0,), "warm_up_seconds": (-1, 10**5),
    },
    Search: {"interval": (1.0, nan, inf), "budget_seconds": (0, 10**12), "start": (0,), "largest": (10**6,)},
    Setting: {"cores": (0, 10**6), "disks": (-1, 10**6)},
}  # fmt: skip


@pytest.mark.parametrize(
    ("record", "name", "value"),
    [(record, name, value) for record, names in OUTSIDE.items() for name, values in names.items() for value in values],
)
def test_a_record_is_validated_when_it_is_made(record: type, name: str, value: Any) -> None:
    valid: Any = {SweepPlan: RUN.plan, Search: Search(2, 1, 4), Setting: RUN.setting}[record]
    with pytest.raises(BadInput, match=f"`{name}` "):
        replace(valid, **{name: value})


def test_every_number_of_a_plan_has_bounds() -> None:
    for record in (SweepPlan, Search):
        hints = get_type_hints(record, include_extras=True)
        numbers = {each.name for each in fields(record) if any(kind in str(each.type) for kind in ("int", "float"))}
        assert all(limits(hints[name]) for name in numbers), record


def test_an_option_has_the_bounds_of_the_field_that_it_sets() -> None:
    for record in (SweepPlan, Search, Setting):
        for name, hint in get_type_hints(record, include_extras=True).items():
            if name in OPTIONS and limits(hint):
                assert limits_of(name) == limits(hint), name
