"""Answers of Prometheus: read in parts from a file, from a server that misbehaves, and from a real server."""

import io
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.errors import BadInput, PoolsizeError, WorkFailed
from poolsize.observe import prometheus
from poolsize.observe.prometheus import (
    LOGIN,
    TOKEN,
    matrix_series,
    observe_answer_file,
    observe_prometheus,
    period_of,
    prometheus_address,
    read_selector,
)
from tests.conftest import ROOT, Command, measured_again
from tests.observe import day_of_prometheus
from tests.observe.sources import answering, real_prometheus
from tests.observe.test_pages import Kept

ACTIVE, USAGE = "hikaricp_connections_active", "hikaricp_connections_usage_seconds_sum"
START = 1_700_000_040
FEW_BYTES = st.integers(250, 2000)


def answer(*series: tuple[dict[str, str], list[tuple[float, str]]]) -> dict[str, Any]:
    result = [{"metric": labels, "values": [list(value) for value in values]} for labels, values in series]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


SERIES = st.lists(
    st.tuples(
        st.dictionaries(st.text(max_size=8), st.text(max_size=12), max_size=4),
        st.lists(
            st.tuples(
                st.integers(START, START + 10**6) | st.floats(START, START + 10**6),
                st.floats().map(repr) | st.sampled_from(["NaN", "+Inf", "-Inf", "12"]),
            ),
            max_size=8,
        ),
    ),
    max_size=5,
)


@pytest.mark.costly
@given(SERIES, st.sampled_from([None, 2]), st.booleans(), FEW_BYTES)
def test_the_series_of_an_answer_are_those_that_json_reads(
    series: list[tuple[dict[str, str], list[tuple[float, str]]]], indent: int | None, ascii_only: bool, size: int
) -> None:
    text = json.dumps(answer(*series), indent=indent, ensure_ascii=ascii_only).encode(errors="surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prometheus, "READ_BYTES", size)
        found = list(matrix_series(io.BytesIO(text)))
    assert len(found) == len(series)
    for (labels, at, values), (its_labels, its_values) in zip(found, series, strict=True):
        assert labels == its_labels or not ascii_only
        assert at.tolist() == [moment for moment, _ in its_values]
        assert np.array_equal(values, [float(value) for _, value in its_values], equal_nan=True)


WHOLE = json.dumps(answer(({"__name__": ACTIVE, "a": "b"}, [(START, "3"), (START + 30, "4")]))).encode()


@pytest.mark.costly
@given(st.integers(0, len(WHOLE)), st.binary(max_size=6))
def test_a_damaged_answer_is_refused_or_read(cut: int, added: bytes) -> None:
    with suppress(PoolsizeError):
        list(matrix_series(io.BytesIO(WHOLE[:cut] + added)))
    with suppress(PoolsizeError):
        list(matrix_series(io.BytesIO(WHOLE[:cut] + added + WHOLE[cut:])))


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\x1f\x8b\x00", b"null", b'{"status": "error", "error": "x"}', b'{"metric": {"a": 3}}' * 2,
        b'"metric": {' + b"[" * 100_000, b'"metric":{"__name__":"x"},"values":[' + b"[1," * 3_000_000,
        json.dumps(answer(({"a": "b"}, [(START, "3")]))).encode(),
        json.dumps(answer(({"__name__": "up"}, [(START, "3")]))).encode(),
        json.dumps(answer(({"__name__": ACTIVE}, [(math.nan, "3"), (math.inf, "3")]))).encode(),
    ],
)  # fmt: skip
def test_a_file_without_pools_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.json").write_bytes(text)
    with pytest.raises(BadInput, match=r"a\.json"):
        observe_answer_file(tmp_path / "a.json", Kept().append, print)


def test_a_file_gives_the_periods_of_each_instance(tmp_path: Path) -> None:
    moments = [START + 30.0 * i for i in range(21)]
    series = [
        ({"__name__": name, "pool": "a", "job": "shop", "instance": f"10.0.0.{i}:80"},
         [(t, str(i + 1 if name == ACTIVE else (i + 1) * 0.5 * (t - START) % 200)) for t in moments])
        for i in range(3) for name in (ACTIVE, USAGE)
    ]  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(answer(*series)))
    kept = Kept()
    observe_answer_file(tmp_path / "a.json", kept.append, print)
    assert [span.instance for span in kept.spans] == [f"shop/10.0.0.{i}:80" for i in range(3)]
    assert kept.spans[0].usage_seconds[:6] == pytest.approx((30,) * 6)
    assert kept.spans[2].in_use_max[0] == 3


@pytest.mark.parametrize(
    ("interval", "days", "period"), [(5, 1, 60), (30, 7, 60), (60, 7, 60), (90, 1, 120), (300, 1, 300), (15, 30, 300)]
)
def test_periods_are_whole_minutes(interval: float, days: float, period: float) -> None:
    assert period_of(interval, days * 86_400) == period


Reply = Callable[[str, dict[str, str], str | None], tuple[int, bytes]]


@contextmanager
def pretended(reply: Reply) -> Iterator[str]:
    """A server whose answers follow from the path, the parameters and the authorization."""

    def to_target(target: str, authorization: str | None) -> tuple[int, bytes]:
        parts = urlsplit(target)
        parameters = {name: values[0] for name, values in parse_qs(parts.query).items()}
        return reply(parts.path, parameters, authorization)

    with answering(to_target) as port:
        yield f"http://127.0.0.1:{port}/prometheus"


def usual(path: str, parameters: dict[str, str], _: str | None) -> tuple[int, bytes]:
    """Answer as Prometheus does, for one pool with 3 connections in use."""
    assert path.startswith("/prometheus/api/v1/")
    if path.endswith("/values"):
        return 200, json.dumps({"status": "success", "data": ["up", ACTIVE, 'a"b', 3, USAGE]}).encode()
    labels = {"pool": "a", "instance": "x:1"}
    if path.endswith("/query"):
        return 200, json.dumps(answer((labels, [(START + 15.0 * i, "3") for i in range(5)]))).encode()
    begin, end, step = (float(parameters[name]) for name in ("start", "end", "step"))
    moments = np.arange(begin, end + 1, step).tolist()
    value = "0.1" if "stdvar" in parameters["query"] else "4" if "count" in parameters["query"] else "3"
    values = [(t, str(3 * t) if USAGE in parameters["query"] else value) for t in moments]
    return 200, json.dumps(answer((labels, values))).encode()


def read(url: str, seconds: float = 6 * 3600, selector: str = "") -> Kept:
    kept = Kept()
    observe_prometheus(prometheus_address(url), seconds, kept.append, kept.notes.append, selector)
    return kept


@pytest.mark.costly
def test_a_range_is_read_in_parts_without_holes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "GOOD_ANSWER_BYTES", 1_500)
    with pretended(usual) as url:
        (span,) = read(url).spans
    assert set(span.in_use_mean) == {3}
    assert set(span.samples) == {4}
    assert span.in_use_variance[5] == 0.1
    assert 359 <= len(span.in_use_mean) <= 361


LIMIT, REFUSALS = "mysql_global_variables_max_connections", ("status", "length", "none", "labels")


def selecting(servers: int, refusal: str = "", labels: dict[str, str] | None = None) -> Reply:
    """Answer for nine pools, and for servers that the selector leaves out. refusal: of queries without a selector."""

    def reply(path: str, parameters: dict[str, str], _: str | None) -> tuple[int, bytes]:
        is_selected = 'app="shop"' in f"{parameters}" or "nothing" in f"{parameters}"
        if refusal == "status" and not is_selected:
            return 403, b"no label"
        if path.endswith("/values"):
            names = [] if "nothing" in f"{parameters}" else [ACTIVE] if is_selected else [ACTIVE, LIMIT]
            names += [f"{ACTIVE}_{i}" for i in range(2_000)] if refusal == "length" and not is_selected else []
            return 200, json.dumps({"status": "success", "data": names}).encode()
        if path.endswith("/series"):
            of_pools = [{"app": f"a{i}", "le": "1", **(labels or {})} for i in range(9)]
            of_servers = [{"instance": f"db{i}:9104"} for i in range(servers)]
            series: Any = of_servers if LIMIT in parameters["match[]"] else of_pools
            series = {"none": None, "labels": [3]}.get(refusal, series)
            return 200, json.dumps({"status": "success", "data": series}).encode()
        return usual(path, parameters, None)

    return reply


@pytest.mark.parametrize(("servers", "refusal"), [(1, ""), (0, ""), (2, ""), *((1, each) for each in REFUSALS)])
def test_a_database_that_the_selector_leaves_out_is_read_if_it_is_the_only_server(servers: int, refusal: str) -> None:
    with pretended(selecting(servers, refusal)) as url:
        kept = read(url, 3600, 'app="shop"')
    is_read = any("the only server" in note for note in kept.notes)
    assert (len(kept.spans), is_read) == (1, servers == 1 and refusal in ("", "length"))


@pytest.mark.parametrize("refusal", ["", *REFUSALS])
def test_a_selector_without_pools_is_named_with_the_labels_that_they_have(refusal: str) -> None:
    hostile = {"job": "a\n\x1b[31mb", "zone": "x" * 2_000}
    with pretended(selecting(1, refusal, hostile)) as url, pytest.raises(BadInput) as refused:
        read(url, 3600, 'app="nothing"')
    text = str(refused.value)
    assert text.isprintable()
    assert len(text) < 700
    assert 'no metric of a pool has the labels app="nothing"' in text
    if not refusal:
        labels = "Pools have these labels: app: a0, a1, a2, a3, a4, a5, ...; job: a"
        assert f'no metric of a pool has the labels app="nothing". {labels}' in text


def test_metrics_without_a_whole_minute_are_not_denied() -> None:
    def young(path: str, parameters: dict[str, str], login: str | None) -> tuple[int, bytes]:
        return usual(path, parameters, login) if path.endswith("/values") else (200, json.dumps(answer()).encode())

    with (
        pretended(young) as url,
        pytest.raises(BadInput, match="no whole minute of them in the last 6 h 00 min: wait two minutes"),
    ):
        read(url)


@pytest.mark.parametrize("sign", [{"warnings": ["store gateway 1 is away"]}, {"isPartial": True}])
def test_answers_that_lack_series_are_named(sign: dict[str, Any]) -> None:
    def partial(path: str, parameters: dict[str, str], login: str | None) -> tuple[int, bytes]:
        code, text = usual(path, parameters, login)
        return code, json.dumps(json.loads(text) | sign).encode()

    with pretended(partial) as url:
        notes = [note for note in read(url).notes if "may lack series" in note]
    assert len(notes) == 1
    assert ("store gateway 1" in notes[0]) == ("warnings" in sign)


def test_an_answer_that_is_too_long_is_asked_for_in_smaller_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "MOST_ANSWER_BYTES", 1_500)
    with pretended(usual) as url:
        (span,) = read(url, 3600).spans
    assert set(span.in_use_mean) == {3}


@pytest.mark.parametrize(
    "error", ["query timed out in expression evaluation", "would load too many samples into memory"]
)
def test_a_query_that_is_too_much_is_asked_for_in_smaller_parts(error: str) -> None:
    def computes_little(path: str, parameters: dict[str, str], login: str | None) -> tuple[int, bytes]:
        if path.endswith("range") and float(parameters["end"]) - float(parameters["start"]) > 600:
            return 503, json.dumps({"status": "error", "error": error}).encode()
        return usual(path, parameters, login)

    with pretended(computes_little) as url:
        (span,) = read(url, 3600).spans
    assert set(span.in_use_mean) == {3}


@pytest.mark.parametrize(("status", "failures"), [(503, 1), (502, 2), (429, 1)])
def test_a_server_that_fails_for_a_moment_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, status: int, failures: int
) -> None:
    monkeypatch.setattr(prometheus, "PAUSES_SECONDS", (0.01, 0.01))
    left = [failures]

    def fails_once(path: str, parameters: dict[str, str], login: str | None) -> tuple[int, bytes]:
        if path.endswith("range") and left[0]:
            left[0] -= 1
            return status, b""
        return usual(path, parameters, login)

    with pretended(fails_once) as url:
        kept = read(url, 3600)
    assert sum("asks again" in note for note in kept.notes) == failures
    assert len(kept.spans[0].in_use_mean) >= 59


def test_a_server_that_fails_for_longer_ends_the_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "PAUSES_SECONDS", (0.01, 0.01))

    def fails(path: str, parameters: dict[str, str], login: str | None) -> tuple[int, bytes]:
        return (502, b"") if path.endswith("range") else usual(path, parameters, login)

    with pretended(fails) as url, pytest.raises(WorkFailed, match=r"query_range: status 502$"):
        read(url)


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"status": "error"}', json.dumps(answer()).encode()[:-2]])
def test_a_later_answer_that_is_none_ends_the_observation(body: bytes) -> None:
    def fails_later(path: str, parameters: dict[str, str], _: str | None) -> tuple[int, bytes]:
        return (200, body) if path.endswith("range") else usual(path, parameters, None)

    with pretended(fails_later) as url, pytest.raises(WorkFailed, match="does not answer as Prometheus does"):
        read(url)


def test_a_label_may_say_what_a_metric_counts() -> None:
    """generic-pool counts the connections in use, the waiting requests and the size under one name."""
    values = {"borrowed": 3, "pending": 0, "max": 8}

    def generic(path: str, parameters: dict[str, str], _: str | None) -> tuple[int, bytes]:
        if path.endswith("/values"):
            return 200, json.dumps({"status": "success", "data": ["pool_size_total"]}).encode()
        if path.endswith("/query"):
            return usual(path, parameters, None)
        begin, end, step = (float(parameters[name]) for name in ("start", "end", "step"))
        moments = np.arange(begin, end + 1, step).tolist()
        counted = "stdvar" not in parameters["query"] and "count" not in parameters["query"]
        series = [({"type": kind}, [(t, str(value * counted)) for t in moments]) for kind, value in values.items()]
        return 200, json.dumps(answer(*series)).encode()

    with pretended(generic) as url:
        (span,) = read(url, 3600).spans
    assert ({*span.in_use_mean}, {*span.waiting_max}, {*span.size}) == ({3}, {0}, {8})


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "value", "header"),
    [(TOKEN, "secret1", "Bearer secret1"), (LOGIN, "me:secret1", "Basic bWU6c2VjcmV0MQ==")],
)
def test_a_password_comes_from_the_environment_only(
    monkeypatch: pytest.MonkeyPatch, poolsize_here: Command, name: str, value: str, header: str
) -> None:
    def guarded(path: str, parameters: dict[str, str], authorization: str | None) -> tuple[int, bytes]:
        return usual(path, parameters, None) if authorization == header else (401, b"")

    with pretended(guarded) as url:
        with pytest.raises(WorkFailed, match=f"status 401: set {TOKEN} or {LOGIN}"):
            read(url)
        monkeypatch.setenv(name, value)
        done = poolsize_here("observe", "--prometheus", url, "--output", "a.jsonl")
        assert done.returncode == 0, done.stderr
    assert "secret1" not in done.stdout + done.stderr


def test_a_failure_leaves_no_file(poolsize_here: Command, tmp_path: Path) -> None:
    with pretended(lambda *_: (503, b"")) as url:
        done = poolsize_here("observe", "--prometheus", url, "--output", "a.jsonl")
    assert (done.returncode, (tmp_path / "a.jsonl").exists()) == (1, False)


def test_a_token_can_add_no_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "secret1\r\nHost: x")
    with pytest.raises(BadInput, match="has a character") as error:
        prometheus_address("http://127.0.0.1:1")
    assert "secret1" not in str(error.value)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (200, b"<html>", "does not answer as Prometheus does"),
        (200, b'{"data": 3}', "does not answer as Prometheus does"),
        (200, b"[" * 10**6, "does not answer as Prometheus does"),
        (200, b'{"status": "success", "data": []}', "it has no metric of a pool"),
        (503, b"", "status 503$"),
        (422, b'{"error": "too many\\n\\u001b samples"}', r"values: status 422: too many \\u001b samples$"),
        (422, b'{"error": "' + b"x" * 20_000, "values: status 422$"),
        (422, b'{"error": 3}', "values: status 422$"),
        (302, b"http://localhost.localdomain:1/", "redirects to another server"),
    ],
)
def test_another_server_is_refused(status: int, body: bytes, error: str) -> None:
    with pretended(lambda *_: (status, body)) as url, pytest.raises(PoolsizeError, match=error):
        read(url)


MINUTES, INTERVAL = 150, 15
RATES = (0.4, 3.0, 12.5)
"""Connections in use, of three instances."""


def history(now: float) -> str:
    """Return what Prometheus scraped of three instances, as OpenMetrics.

    The second instance restarts after an hour. Prometheus is away for three minutes.
    """
    begin = now - 60 * MINUTES
    lines = [f"# TYPE {ACTIVE} gauge"]
    moments = [begin + INTERVAL * i for i in range(60 * MINUTES // INTERVAL) if not 5000 < INTERVAL * i < 5180]
    for i, rate in enumerate(RATES):
        labels = f'{{instance="10.0.0.{i}:8080",job="shop",pool="main"}}'
        lines += [f"{ACTIVE}{labels} {round(rate) + (t // 60 % 2 == 0)} {t:.3f}" for t in moments]
    lines.append("# TYPE hikaricp_connections_usage_seconds summary")
    for i, rate in enumerate(RATES):
        labels = f'{{instance="10.0.0.{i}:8080",job="shop",pool="main"}}'
        restart = begin + 3600 if i == 1 else begin
        since = [(t, t - (restart if t >= restart else begin)) for t in moments]
        lines += [f"{USAGE}{labels} {rate * age:.6f} {t:.3f}" for t, age in since]
    for name, value in (
        ("variables_max_connections", 151),
        ("status_threads_running", 2),
        ("status_threads_connected", 9),
    ):
        lines.append(f"# TYPE mysql_global_{name} gauge")
        lines += [f'mysql_global_{name}{{instance="db:9104",job="mysql"}} {value} {t:.3f}' for t in moments]
    return "\n".join([*lines, "# EOF\n"])


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("promtool"), reason="Prometheus is not installed")
def test_a_real_prometheus_gives_the_mean_in_use_of_each_instance(tmp_path: Path) -> None:
    now = time.time()
    (tmp_path / "history").write_text(history(now))
    backfill = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "history", "data"]
    subprocess.run(backfill, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    with real_prometheus(tmp_path, {}) as url:
        whole = read(url, 2 * 3600)
        spans = whole.spans
        selected = read(url, 2 * 3600, read_selector('{instance=~"10.0.0.1:.*", job="shop"}'))
        assert read(url, 2 * 3600, 'job!="other"').spans == spans
        with pytest.raises(BadInput) as refused:
            read(url, 2 * 3600, 'job="other"')
        day = read(url, 24 * 3600)
    assert selected.spans == spans[1:2]
    for read_server in (whole.servers, selected.servers):  # the only database server, whose labels are others
        assert [server.max_connections for server in read_server] == [151]
    assert not any(selected.servers[0].running_mean)
    assert max(value or 0 for value in selected.servers[0].connected_max) == 9
    labels = "job: shop; pool: main; instance: 10.0.0.0:8080, 10.0.0.1:8080, 10.0.0.2:8080"
    assert str(refused.value).endswith(f'has the labels job="other". Pools have these labels: {labels}')
    assert not [note for note in whole.notes if "only" in note]
    assert "no database server has these labels: reads max_connections of the only server in Prometheus" in (
        selected.notes
    )
    (shorter,) = [note for note in day.notes if "only" in note]
    assert re.fullmatch(r"the metrics are of the last 2 h [23]\d min only: Prometheus has none that are older", shorter)
    assert [span.instance for span in spans] == [f"shop/10.0.0.{i}:8080" for i in range(3)]
    for span, rate in zip(spans, RATES, strict=True):
        means = np.array([value for value in span.usage_seconds if value is not None]) / 60
        assert means.size >= 117
        lost = np.count_nonzero(abs(means / rate - 1) > 0.01)
        assert (
            lost <= 6
        )  # minutes beside the time without Prometheus, in which the last value is older, and a restart's
        assert means.mean() == pytest.approx(rate, rel=0.02)
        assert np.median([value for value in span.samples if value is not None]) == 4
        assert max(value or 0 for value in span.in_use_max) == round(rate) + 1


DAY_SECONDS, DAY_MIB = 10, 286
MEASURED = """\
import re, sys, time
from pathlib import Path
from poolsize.commands import main
sys.argv[1:] = ["observe", "--prometheus", sys.argv[1], "--json"]
main()
kib = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
print(time.process_time(), int(kib) / 1024, file=sys.stderr)
"""
"""Prints its CPU time, and the most memory since it started: getrusage's may be that of the process that forked it."""


def measured(source: str, folder: Path) -> dict[str, Any]:
    """Return the pool of a day of 200 instances, which takes little CPU time and little memory."""
    command = [sys.executable, "-c", MEASURED, source]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    seconds, mebibytes = map(float, done.stderr.splitlines()[-1].split())
    print(f"{seconds:.1f} s, {mebibytes:.0f} MiB")
    assert seconds < DAY_SECONDS
    assert mebibytes < DAY_MIB
    (pool,) = json.loads(done.stdout)["pools"]
    assert pool["processes"] == 200
    return dict(pool)


@pytest.mark.slow
@pytest.mark.experiment
@measured_again
def test_a_day_of_200_instances_is_read_and_answered_soon(tmp_path: Path) -> None:
    """At 30 s steps, with 8 metrics each: 100 MB."""
    moments = [START + 30 * i for i in range(2880)]
    random = np.random.default_rng(1)
    names = ("active", "pending", "max", "timeout_total", "usage_seconds_sum", "usage_seconds_count",
             "acquire_seconds_sum", "acquire_seconds_count")  # fmt: skip
    with (tmp_path / "day.json").open("w") as file:
        file.write('{"status":"success","data":{"resultType":"matrix","result":[')
        for i in range(200):
            for name in names:
                rises = random.uniform(0, 100, 2880)
                values = {"active": rises // 10, "pending": 0 * rises, "max": 0 * rises + 20}.get(name, rises.cumsum())
                labels = {"__name__": f"hikaricp_connections_{name}", "instance": f"10.0.0.{i}:80", "pool": "main"}
                series = ",".join(f'[{t},"{value:g}"]' for t, value in zip(moments, values, strict=True))
                file.write(
                    f'{"," if i or name != names[0] else ""}{{"metric":{json.dumps(labels)},"values":[{series}]}}'
                )
        file.write("]}}")
    measured("day.json", tmp_path)


@pytest.mark.slow
@pytest.mark.experiment
@measured_again
def test_a_day_of_200_instances_of_a_server_is_read_and_answered_soon(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.observe.day_of_prometheus"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            pool = measured(f"http://127.0.0.1:{server.stdout.readline().strip()}", tmp_path)
        finally:
            server.kill()
    assert pool["in_use_together"] == pytest.approx(200 * day_of_prometheus.IN_USE.mean(), rel=0.01)
    assert pool["in_use_max"] == day_of_prometheus.IN_USE.max()
    assert (pool["size"], pool["timeouts"]) == (day_of_prometheus.SIZE, 0)
