"""Files of load tools, as their programs write them and as people post them, and the answers that they allow."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from poolsize.analysis.analysis import analyze
from poolsize.answer.from_run import recommend
from poolsize.answer.recommendation import Recommendation
from poolsize.errors import BadInput
from poolsize.present.text.analysis import analysis_values
from poolsize.present.text.json_text import json_text
from poolsize.present.text.recommendation import headline, recommendation_text
from poolsize.recordings.importers import read_logs
from poolsize.recordings.recording import Recording, read_recording, write_recording
from poolsize.sweep.replay import recorded_run
from tests.conftest import ROOT, Command

OUTPUTS = ROOT / "tests/data/load_tools"
CURVE = {1: 120, 2: 235, 4: 450, 8: 800, 16: 1310, 32: 1450, 64: 1460}
"""Pool size -> throughput of a curve that bends at 16 to 32."""
SUMMARY = {"Throughput (requests/second)": 812.5, "Latency Distribution": {}}


def means(recording: Recording) -> dict[int, float]:
    return {
        size: round(sum(seconds.throughput) / len(seconds.throughput), 2) for size, seconds in recording.by_size.items()
    }


def answer_of(recording: Recording) -> Recommendation:
    return recommend(analyze(recorded_run(recording, "a curve", 8)))


def written(folder: Path, *texts: str, name: str = "run{}.log") -> list[Path]:
    paths = [folder / name.format(number) for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def sysbench(threads: int, line: str, seconds: Sequence[int]) -> str:
    noise = (1.0, -2.0, 0.5, 2.5, -1.5)
    lines = [
        line.format(at=at, threads=threads, tps=CURVE[threads] + noise[number % 5]) for number, at in enumerate(seconds)
    ]
    return f"Running the test with following options:\nNumber of threads: {threads}\n\n" + "\n".join(lines) + "\n"


V04 = "[{at:4d}s] Intermediate results: {threads} threads, tps: {tps:f}, reads/s: 9.0 response time: 8.05ms (95%)"
V05 = (
    "[{at:4d}s] threads: {threads}, tps: {tps:.2f}, reads: 9.0, writes: 2.0, response time: 8.05ms (99%), errors: 0.00"
)
V10 = "[ {at}s ] thds: {threads} tps: {tps:.2f} qps: 9.0 (r/w/o: 1/1/1) lat (ms,98%): 8.05 err/s: 0.00 reconn/s: 0.00"
V11 = "[ {at}s ] thds: {threads} eps: {tps:.2f} lat (ms,75%): 8.05"


@pytest.mark.costly
@pytest.mark.parametrize(
    ("line", "quantile", "interval"),
    [(V04, "p95", 10), (V05, "p99", 5), (V10, "p98", 1), (V11, "p75", 2)],
    ids=["0.4", "0.5", "1.0", "1.1"],
)
def test_every_version_of_sysbench_is_read_with_its_interval_and_percentile(
    tmp_path: Path, line: str, quantile: str, interval: int
) -> None:
    seconds = range(interval, 31 * interval, interval)
    recording = read_logs(written(tmp_path, *(sysbench(threads, line, seconds) for threads in CURVE)))
    assert (recording.quantile, recording.interval_seconds, recording.means_only) == (quantile, interval, False)
    assert means(recording) == pytest.approx({size: rate + 0.1 for size, rate in CURVE.items()})
    assert {seconds.latency_ms for seconds in recording.by_size.values()} == {(8.05,) * 30}
    answer = answer_of(recording)
    assert answer.range
    assert answer.range[0] <= 25 <= answer.range[1]
    assert ("a mean over" in recommendation_text(answer)) == (interval > 1)
    (together,) = written(tmp_path, "".join(sysbench(threads, line, seconds) for threads in CURVE), name="all.log")
    assert read_logs([together]) == recording, "one file with all runs"


@pytest.mark.costly
def test_a_percentile_keeps_its_name_in_recordings_runs_and_answers(tmp_path: Path) -> None:
    lines = V10.replace("98%", "99%")
    recording = read_logs(written(tmp_path, *(sysbench(threads, lines, range(1, 31)) for threads in CURVE)))
    write_recording(recording, tmp_path / "curve.csv")
    assert (tmp_path / "curve.csv").read_text().startswith("pool_size,second,throughput,p99_ms\n1,1,121,8.05\n")
    assert read_recording(tmp_path / "curve.csv") == recording
    run = recorded_run(recording, "curve.csv", 8)
    assert all(step.p95_ms == () and set(step.percentiles_ms) == {"p99"} for step in run.steps)
    sizes = json.loads(json_text(analysis_values(analyze(run))))["steps"]
    assert {(size["total_ms"]["p95"], size["total_ms"]["p99"]) for size in sizes} == {(None, 8.05)}


@pytest.mark.parametrize("leaving", [V10, V05], ids=["1.0", "0.5"])
def test_threads_that_leave_at_the_end_are_no_pool_size(tmp_path: Path, leaving: str) -> None:
    text = "\n".join(
        leaving.format(at=at, threads=threads, tps=CURVE.get(threads, 12.0))
        for most in (8, 16, 32)
        for at, threads in [*((at, most) for at in range(1, 11)), (11, 5), (12, 1)]
    )
    recording = read_logs(written(tmp_path, text))
    assert {size: len(seconds.throughput) for size, seconds in recording.by_size.items()} == {8: 10, 16: 10, 32: 10}


CLOSING = """
    transactions:                        {events}   ({tps:.2f} per sec.)
    {percentile}  8.10
"""


@pytest.mark.parametrize(
    ("line", "percentile"), [(V04, "approx.  95 percentile:"), (V10, "95th percentile:")], ids=["0.4", "1.0"]
)
@pytest.mark.parametrize("lines", [0, 1])
def test_a_run_of_one_line_or_none_has_the_mean_of_its_closing_statistics(
    tmp_path: Path, line: str, percentile: str, lines: int
) -> None:
    runs = [
        sysbench(threads, line, range(60, 60 + lines)) + CLOSING.format(events=60 * tps, tps=tps, percentile=percentile)
        for threads, tps in CURVE.items()
    ]
    recording = read_logs(written(tmp_path, "".join(runs)))
    assert means(recording) == CURVE
    assert recording.means_only
    assert {seconds.latency_ms for seconds in recording.by_size.values()} == {(8.1,)}


MYSQLSLAP = """Benchmark
	Average number of seconds to run all queries: {seconds:.3f} seconds
	Minimum number of seconds to run all queries: 0.001 seconds
	Number of clients running queries: {size}
	Average number of queries per client: {queries}

"""
HAMMERDB = """Vuser 1:{size} Active Virtual Users configured
Vuser 1:TEST RESULT : System achieved 9 NOPM from {tpm} MySQL TPM
"""
OLD_HAMMERDB = HAMMERDB.replace("9 NOPM from {tpm} MySQL TPM", "{tpm} MySQL TPM at 9 NOPM")
ASYNCHRONOUS = HAMMERDB.replace("{size} Active Virtual Users", "1 VU * {size} AC = {size} Active Sessions")
WRK = """Running 30s test @ http://service/
  1 threads and {size} connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    42.1ms   10.2ms 210.00ms   81.10%
  {requests} requests in 2.00s, 12.30MB read
  Non-2xx or 3xx responses: {failed}
Requests/sec:   {all}.00
"""
K6 = '{{"metrics": {{"http_reqs": {{"count": 9, "rate": {rate}}}, "vus": {{"min": {size}, "max": {size}}}}}}}'
HANDLED = (
    '{{"metrics": {{"iterations": {{"values": {{"rate": {rate}}}}}, "vus_max": {{"values": {{"max": {size}}}}}}}}}'
)
TERMINALS = '{{"terminals": "{size}", "Throughput (requests/second)": {rate}, "Latency Distribution": {{}}}}'
JMETER = "timeStamp,elapsed,label,success,allThreads\n"


def posted(header: str, separator: str = ",", factor: int = 1) -> str:
    return header + "".join(f"\n{size}{separator}{rate * factor}" for size, rate in CURVE.items())


MEANS = {
    "mysqlslap": "".join(MYSQLSLAP.format(size=size, queries=rate, seconds=size) for size, rate in CURVE.items()),
    "mysqlslap --csv": "".join(f"innodb,mixed,{size}.000,1.198,1.300,{size},{rate}\n" for size, rate in CURVE.items()),
    "HammerDB": "".join(HAMMERDB.format(size=size, tpm=60 * rate) for size, rate in CURVE.items()),
    "old HammerDB": "".join(OLD_HAMMERDB.format(size=size, tpm=60 * rate) for size, rate in CURVE.items()),
    "asynchronous HammerDB": "".join(ASYNCHRONOUS.format(size=size, tpm=60 * rate) for size, rate in CURVE.items()),
    "wrk": "".join(WRK.format(size=size, requests=2 * rate, failed=20, all=rate + 10) for size, rate in CURVE.items()),
    "threads,tps": posted("threads,tps"),
    "Clients;QPS": posted("Clients;QPS", ";"),
    "users rps by tabs": posted("# users\tRequests/sec", "\t"),
    "pool_size,throughput": posted("pool_size,throughput"),
    "vusers,tpm": posted("Virtual Users,TPM", factor=60),
    "one second": "pool_size,second,throughput,p95_ms" + posted("", ",1,").replace("\n", ",9\n")[2:] + ",9",
}
"""A program, or a header -> its figures of the curve, in one file."""
OF_EACH = {"k6": K6, "k6's handleSummary": HANDLED, "BenchBase": TERMINALS}
"""Program -> its file of one size."""


@pytest.mark.parametrize("name", [*MEANS, *OF_EACH])
def test_one_mean_a_size_gives_a_size_whose_range_is_unknown(tmp_path: Path, name: str) -> None:
    texts = (
        [MEANS[name]] if name in MEANS else [OF_EACH[name].format(size=size, rate=rate) for size, rate in CURVE.items()]
    )
    recording = read_logs(written(tmp_path, *texts))
    assert means(recording) == CURVE
    assert recording.means_only
    answer = answer_of(recording)
    assert 16 < (answer.pool_size or 0) <= 32
    assert (answer.range, answer.range_open, answer.verdict) == (None, None, "means-only")
    assert "(range unknown: too few figures of a pool size)  [means-only]" in headline(answer)
    text = recommendation_text(answer)
    assert "the range is unknown" in " ".join(text.split())
    assert "95 % range" not in text
    assert "probability" not in text


def test_means_of_too_few_sizes_are_at_an_edge_without_a_range(tmp_path: Path) -> None:
    answer = answer_of(read_logs(written(tmp_path, "threads,tps\n8,4931\n16,7787\n")))
    assert (answer.verdict, answer.range) == ("edge", None)
    assert "range unknown" in headline(answer)


def test_a_file_of_one_size_gives_no_answer_but_the_way_to_one(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "-x").write_text("threads,tps\n50,998.2\n50,998.9\n")
    imported = poolsize_here("import", "./-x", "--output", "run.jsonl")
    assert "An answer compares two pool sizes or more: measure others, and import all" in imported.stdout
    for words in (("--curve", "-x"), ("--run", "run.jsonl")):
        done = poolsize_here("recommend", *words)
        assert done.returncode == 1
        assert "Only one pool size, 50, is valid" in done.stdout
        assert "measure or replay other pool sizes" in " ".join(done.stdout.split())
        assert "poolsize import" not in done.stdout


def test_an_imported_run_that_was_cut_off_is_imported_again(poolsize_here: Command, tmp_path: Path) -> None:
    """A sweep can't measure what another program measured, and the run has the name of the first file only."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.csv").write_text(MEANS["threads,tps"])
    assert poolsize_here("import", "there/a.csv", "--output", "run.jsonl").returncode == 0
    run = tmp_path / "run.jsonl"
    run.write_bytes(run.read_bytes()[:-30])
    assert (
        "finish the run with: poolsize import FILE... --output RUN.jsonl"
        in poolsize_here("analyze", "run.jsonl").stderr
    )


def test_a_printed_command_reads_a_file_whose_name_begins_like_an_option(
    poolsize_here: Command, tmp_path: Path
) -> None:
    (tmp_path / "-x").write_text(MEANS["threads,tps"])
    assert "poolsize import ./-x --output run.jsonl" in poolsize_here("recommend", "--curve", "-x").stdout


@pytest.mark.costly
def test_a_recording_of_one_second_a_size_is_replayed_without_a_range(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "curve.csv").write_text(MEANS["one second"])
    done = poolsize_here("sweep", "--replay", "curve.csv", "--cores", "8", "--json")
    answer = json.loads(done.stdout)
    assert (answer["range"], answer["verdict"]) == (None, "means-only")
    text = poolsize_here("analyze", answer["run"]).stdout
    assert "(range unknown: too few figures of a pool size)" in text
    assert "800-800" not in text
    assert not re.search(r"plateau .*\d-\d", text), "the estimators have no range either"


@pytest.mark.costly
def test_four_runs_of_a_size_show_their_noise(tmp_path: Path) -> None:
    rows = [f"{size},{rate * (1 + noise):.1f}" for size, rate in CURVE.items() for noise in (-0.01, 0, 0.02, 0.01)]
    recording = read_logs(written(tmp_path, "\n".join(["threads,tps", *rows])))
    assert not recording.means_only
    assert answer_of(recording).range


def test_a_table_with_a_column_of_time_has_intervals(tmp_path: Path) -> None:
    rows = [f"{at},{size},{rate},{size}" for size, rate in CURVE.items() for at in range(10, 110, 10)]
    recording = read_logs(written(tmp_path, "\n".join(["Time (s),Connections,Throughput,p99.9", *rows])))
    assert (recording.interval_seconds, recording.quantile, means(recording)) == (10, "p99_9", CURVE)


def test_the_interval_of_a_table_is_that_of_its_column_of_time(tmp_path: Path) -> None:
    seconds = [(at, size, rate) for _ in range(2) for size, rate in CURVE.items() for at in range(10, 90, 10)]
    in_ms = [(1_700_000_000_000 + 1000 * number, size, rate) for number, (_, size, rate) in enumerate(seconds)]
    for rows, interval in ((seconds, 10), (in_ms, 1)):
        text = "\n".join(["time,threads,tps", *(f"{at},{size},{rate}" for at, size, rate in rows)])
        recording = read_logs(written(tmp_path, text))
        assert (recording.interval_seconds, means(recording)) == (interval, CURVE)
        assert {len(figures.throughput) for figures in recording.by_size.values()} == {16}


def test_a_recording_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    header, *rows = "p95_ms,pool_size,second,users,throughput", "9,4,1,64,50", "9,4,2,64,51"
    for begin, end in (("\ufeff", "\r\n"), ("", "\n"), ("", "\r\n")):
        assert read_logs(written(tmp_path, begin + end.join([header, *rows, ""]))).users == 64


def test_a_table_gives_p95_else_its_highest_percentile(tmp_path: Path) -> None:
    for header, quantile, latency_ms in (("p50_ms,p95_ms,p99_ms", "p95", 20), ("p50_ms,p90_ms,p99_ms", "p99", 30)):
        recording = read_logs(written(tmp_path, f"threads,tps,{header}\n4,90,10,20,30\n"))
        assert (recording.quantile, recording.by_size[4].latency_ms) == (quantile, (latency_ms,))


def test_a_percentile_that_sysbench_has_switched_off_is_unknown(tmp_path: Path) -> None:
    without = [sysbench(threads, V10.replace("98%): 8.05", "0%): 0.00"), range(1, 9)) for threads in (1, 2, 4)]
    recording = read_logs(written(tmp_path, *without, sysbench(8, V10, range(1, 9))))
    assert (recording.quantile, recording.by_size[8].latency_ms[0]) == ("p98", 8.05)


def jmeter(users: int, rate: int, begin_s: int, seconds: int, *, failed: bool = False) -> str:
    success = "false" if failed else "true"
    return "".join(
        f"{1000 * (begin_s + second) + 1000 * place // rate},{5 + place},get,{success},{users}\n"
        for second in range(seconds)
        for place in range(rate)
    )


def test_jmeters_samples_become_seconds_of_the_active_threads(tmp_path: Path) -> None:
    text = JMETER + jmeter(2, 20, 1000, 10) + jmeter(4, 40, 1010, 10) + jmeter(4, 40, 1010, 10, failed=True)
    text += jmeter(3, 5, 1020, 2) + "1021500,9,all,true,4\n"
    recording = read_logs(written(tmp_path, text, name="a.jtl"))
    assert means(recording) == {2: 20, 4: 40}
    assert {len(seconds.throughput) for seconds in recording.by_size.values()} == {8}
    assert recording.by_size[2].latency_ms == (23.0,) * 8, "the 19th of 20 times"
    again = read_logs(written(tmp_path, text + jmeter(2, 20, 5000, 10), name="again.jtl"))
    assert (means(again), len(again.by_size[2].throughput)) == ({2: 20, 4: 40}, 16), "a later test in the same file"
    with_controllers = text.replace("success", "responseMessage,success").replace("get,", "get,OK,")
    with_controllers += '1001000,100,"c","Number of samples in transaction : 9",true,2\n'
    assert read_logs(written(tmp_path, with_controllers.replace("all,", "all,OK,"), name="b.jtl")) == recording
    short = read_logs(written(tmp_path, JMETER + jmeter(2, 20, 1000, 2), name="c.jtl"))
    assert (means(short), short.means_only) == ({2: 20}, True)


BENCHBASE = {
    "results": "Time (seconds),Throughput (requests/second),95th Percentile Latency (millisecond)\n"
    "0,800,9.5\n5,806,9.5\n",
    "samples": "Time (seconds),Requests,Throughput (requests/second),95th Percentile Latency (microseconds)\n"
    "0,1,800,9500\n5,1,806,9500\n",
}
"""Kind of file -> its beginning; the last window, which its run did not fill, follows."""


@pytest.mark.parametrize("kind", BENCHBASE)
def test_benchbases_seconds_have_the_terminals_of_the_summary_beside_them(tmp_path: Path, kind: str) -> None:
    seconds, summary = tmp_path / f"tpcc.{kind}.csv", tmp_path / "tpcc.summary.json"
    seconds.write_text(BENCHBASE[kind] + "10,160,160,9500\n")
    summary.write_text(json.dumps(SUMMARY | {"terminals": 8}))
    for given in ([seconds], [seconds, summary]):
        recording = read_logs(given)
        assert (means(recording), recording.interval_seconds) == ({8: 803}, 5)
        assert recording.by_size[8].latency_ms == (9.5, 9.5)


def test_the_rate_of_benchbase_may_have_a_longer_name(tmp_path: Path) -> None:
    (tmp_path / "tpcc.summary.json").write_text(TERMINALS.format(size=8, rate=900))
    (tmp_path / "tpcc.results.csv").write_text("Time (seconds),Throughput (requests/second) good\n0,800\n5,806\n10,1\n")
    assert means(read_logs([tmp_path / "tpcc.results.csv"])) == {8: 803}


def test_a_run_of_benchbase_shorter_than_a_window_has_the_mean_of_its_summary(tmp_path: Path) -> None:
    (tmp_path / "tpcc.summary.json").write_text(TERMINALS.format(size=8, rate=900))
    (tmp_path / "tpcc.results.csv").write_text("Time (seconds),Throughput (requests/second)\n0,540\n")
    recording = read_logs([tmp_path / "tpcc.results.csv"])
    assert (means(recording), recording.means_only) == ({8: 900}, True)


def test_successes_of_benchbases_warm_up_do_not_count(tmp_path: Path) -> None:
    """A goodput above the throughput has requests of the warm-up: their number is divided by the measured time."""
    for good, counted in ((1800, 900), (850, 850)):
        summary = {"terminals": "8", "Throughput (requests/second)": 900, "Goodput (requests/second)": good}
        assert means(read_logs(written(tmp_path, json.dumps(summary), name="a.summary.json"))) == {8: counted}


def test_phases_of_benchbase_with_terminals_of_their_own_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tpcc.summary.json").write_text(TERMINALS.format(size=8, rate=900))
    (tmp_path / "tpcc.config.xml").write_text("<works><work><active_terminals>4</active_terminals></work></works>")
    with pytest.raises(BadInput, match="active_terminals"):
        read_logs([tmp_path / "tpcc.summary.json"])


LOCUST = "Timestamp,User Count,Type,Name,Requests/s,{percent},Total Request Count,Total Failure Count"


@pytest.mark.parametrize("quoted", [True, False], ids=["1.0", "2.x"])
@pytest.mark.parametrize("percent", ["50%,95%,99%", "50%,90%,99%,100%"])
@pytest.mark.parametrize("names", [("Aggregated",), ("/a", "/b"), ("/a", "/b", "Aggregated")])
def test_every_history_of_locust_is_read(tmp_path: Path, quoted: bool, percent: str, names: tuple[str, ...]) -> None:
    rows = [LOCUST.format(percent=percent).split(",")]
    totals = dict.fromkeys(names, 0)
    for number, (users, rate) in enumerate(CURVE.items()):
        for second in range(12):
            for name in names:
                totals[name] += rate // (1 if name == "Aggregated" else 2)
                quantiles = ["9"] * len(percent.split(","))
                rows.append(
                    [str(100 * number + second), str(users), "", name, "0.0", *quantiles, str(totals[name]), "0"]
                )
    mark = '"' if quoted else ""
    text = "\n".join(",".join(f"{mark}{cell}{mark}" for cell in row) for row in rows)
    recording = read_logs(written(tmp_path, text, name="a_stats_history.csv"))
    half = {size: 2 * (rate // 2) for size, rate in CURVE.items()}
    assert means(recording) == (CURVE if "Aggregated" in names else half)
    assert {len(seconds.throughput) for seconds in recording.by_size.values()} == {11}
    expected = ("p95" if "95%" in percent else "p99", 9.0) if "Aggregated" in names else ("p95", 0.0)
    assert (recording.quantile, recording.by_size[1].latency_ms[0]) == expected


@pytest.mark.parametrize("values", ["5", "[5]", '"5"', "null"])
def test_times_of_k6_that_are_no_object_are_not_read(values: str, tmp_path: Path) -> None:
    summary = '{"metrics": {"vus": {"max": 4}, "iterations": {"rate": 9}, "iteration_duration": {"values": %s}}}'
    (tmp_path / "a.json").write_text(summary % values)
    assert means(read_logs([tmp_path / "a.json"])) == {4: 9}


@pytest.mark.parametrize(
    ("name", "content", "refusal"),
    [
        ("run_stats.csv", "Type,Name,Request Count,Failure Count\n", "number of users: give the history"),
        ("a.csv", "Label,# Samples,Average,Throughput\nget,5,1,2\n", "lacks the number of threads"),
        ("a.csv", "sampler_label,aggregate_report_count\n", "lacks the number of threads"),
        ("a.jtl", '<?xml version="1.0" encoding="UTF-8"?>\n<testResults version="1.2">\n', "JMeter's XML: write CSV"),
        ("a.json", '{"type":"Metric","data":{"name":"vus"}}\n{"metric":"vus"}\n', "--summary-export"),
        ("a.csv", "metric_name,timestamp,metric_value\nvus,1595325560,10\n", "--summary-export"),
        ("a.jtl", "timeStamp,elapsed,label,success\n1,2,a,true\n", "the column 'allThreads'"),
        ("a.jtl", f"{JMETER}x,2,a,true,4\n", "lacks a whole number"),
        ("a.jtl", f"{JMETER}1,2,a,true,4\n{10**17},2,a,true,4\n", "s apart"),
        ("a.jtl", JMETER + "".join(f"{1000 * at},9,a,true,{at}\n" for at in range(1, 99)), "no number of threads"),
        ("a.json", '{"metrics": {"http_reqs": {"rate": 9}}}', "number of virtual users"),
        ("a.json", '{"metrics": {"http_reqs": {"rate": 9}, "vus": {"min": 1, "max": 9}}}', "1 to 9 virtual users"),
        ("a.json", '{"metrics": {"vus": {"min": 9, "max": 9}}}', "lacks the rate"),
        ("a.json", json.dumps(SUMMARY), "number of `terminals`"),
        ("a.json", '{"a": 1}', "neither a summary of k6 nor of BenchBase"),
        ("a.json", "{" * 100_000, "not complete JSON"),
        ("a.results.csv", "Time (seconds),Throughput (requests/second)\n1,2\n", "lacks the number of terminals"),
        ("a.txt", "Running 2s test @ http://a/\n  2 threads and 4 connections\n", "did not end"),
        ("a.txt", MYSQLSLAP.format(size=4, seconds=1, queries=0), "ran no query"),
        ("a.txt", "Vuser 1:8 Active Virtual Users configured\n", "no line `TEST RESULT"),
        ("a.txt", "System achieved 9 NOPM from 9 MySQL TPM\n", "no line `Active Virtual Users"),
        ("a.txt", "sysbench 1.0.20\n\nFATAL: no server\n", "a.txt: line 3: 'FATAL: no server': this run of"),
        ("a.txt", "sysbench 1.0.20\n[ 1s ] thds: 8 tps: 90.1\n[ 2sFATAL: error 1040\n", "line 3: 'FATAL: error 1040'"),
        ("a.csv", "threads,tps\n4,many\n", "line 2 lacks a number of threads or tps$"),
        ("a.csv", "clients;tps\n4;900,5\n", "write '900,5' without thousands separators, and with a decimal point$"),
        ("a.csv", 'note,clients,tps\n"a,b",4,x\n', "line 2 lacks a number of clients or tps$"),
        ("a.csv", "threads,tps\n4,0\n", "no throughput above 0"),
        ("a.csv", "threads,tps\n-4,9\n", "a figure is below 0, too large, or not a number"),
        ("a.csv", "threads,tps\n4,nan\n", "a figure is below 0, too large, or not a number"),
        ("a.csv", "a,b\n1,2\n", "none of the files that poolsize reads"),
    ],
)  # fmt: skip
def test_a_refused_file_is_told_what_is_missing(tmp_path: Path, name: str, content: str, refusal: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(BadInput, match=refusal.replace("(", r"\(")) as refused:
        read_logs([tmp_path / name])
    assert "\n" not in str(refused.value)


def test_the_programs_own_figures_are_read() -> None:
    """The files are outputs of sysbench 1.0.20, mariadb-slap 10.11, wrk 4.1.0, k6 0.54, JMeter 5.6 and Locust 2.47."""
    assert means(read_logs([OUTPUTS / "sysbench-no-interval.log"])) == {1: 664.84, 2: 490.27, 4: 593.75}
    histogram = read_logs([OUTPUTS / "sysbench-histogram.log"])
    assert histogram.quantile == "p99"
    printed = {1: 601.97, 2: 536.28, 4: 515.92, 8: 522.57}
    assert means(histogram) == pytest.approx(printed, rel=0.02), "the last line may lack a part of the run"
    assert means(read_logs([OUTPUTS / "sysbench-json.log"]))[2] == pytest.approx(604.32, rel=0.01)
    csv_lines = read_logs([OUTPUTS / "sysbench-csv.log"])
    assert csv_lines.by_size[2].throughput == (250.61, 381.19, 325.21, 497.61)
    assert means(read_logs([OUTPUTS / "mysqlslap.txt"])) == {2: 742.39, 4: 1237.62, 8: 1112.35}
    assert means(read_logs([OUTPUTS / "mysqlslap.csv"])) == {2: 600.96, 4: 1230.01, 8: 1569.86}
    wrk = read_logs([OUTPUTS / "wrk.txt"])
    assert (means(wrk), wrk.quantile) == ({2: 39.98, 4: 81.6, 8: 166.07}, "p99")
    assert means(read_logs([OUTPUTS / "k6-summary-export.json"])) == {4: 80.96}
    assert means(read_logs([OUTPUTS / "k6-handle-summary.json"])) == {4: 81.06}
    jmeter = read_logs([OUTPUTS / "jmeter.jtl"])
    assert means(jmeter)[2] == pytest.approx(35.8, rel=0.03), "its summary line of the last 8 s, by JMeter"
    locust = read_logs([OUTPUTS / "locust_stats_history.csv"])
    assert means(locust) == {2: 36.0, 4: 70.71}


@pytest.mark.costly
def test_curve_answers_in_one_step(poolsize_here: Command, tmp_path: Path) -> None:
    files = written(tmp_path, *(sysbench(threads, V10, range(1, 31)) for threads in CURVE))
    names = [path.name for path in files]
    done = poolsize_here("recommend", "--curve", *names, "--cores", "8", "--current", "64")
    assert done.returncode == 0, done.stderr
    assert "95 % range" in done.stdout
    assert f"poolsize import {' '.join(names)} --cores 8 --output run.jsonl" in " ".join(done.stdout.split())
    assert len(done.stdout.splitlines()) <= 12
    in_one = json.loads(poolsize_here("recommend", "--curve", *names, "--cores", "8", "--json").stdout)
    named_each = [word for name in names for word in ("--curve", name)]
    assert in_one == json.loads(poolsize_here("recommend", *named_each, "--cores", "8", "--json").stdout)
    assert poolsize_here("import", *names, "--cores", "8", "--output", "run.jsonl").returncode == 0
    assert in_one == json.loads(poolsize_here("recommend", "--run", "run.jsonl", "--json").stdout)
    assert "Replayed: the recording run0.log" in poolsize_here("recommend", "--why", "--curve", *names).stdout


def test_a_limit_of_a_percentile_that_a_recording_lacks_is_refused_before_a_run_is_begun(
    poolsize_here: Command, tmp_path: Path
) -> None:
    done = poolsize_here("sweep", "--replay", "druid_insert_mysql9", "--max-p95", "50ms")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--max-p95 50ms: druid_insert_mysql9 has no p95: leave it out" in done.stderr
    assert not (tmp_path / "data").exists()


def test_means_do_not_show_how_probably_a_latency_limit_is_kept(poolsize_here: Command, tmp_path: Path) -> None:
    rows = "\n".join(f"{size},{rate},{10 + size}" for size, rate in CURVE.items())
    (tmp_path / "a.csv").write_text(f"threads,tps,p95\n{rows}\n")
    done = poolsize_here("recommend", "--curve", "a.csv", "--max-p95", "30ms")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--max-p95 30ms: the recording has too few figures of a pool size" in done.stderr
    assert poolsize_here("import", "a.csv", "--output", "curve.csv").returncode == 0
    done = poolsize_here("sweep", "--replay", "curve.csv", "--cores", "8", "--max-p95", "30ms")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--max-p95 30ms: curve.csv has too few figures of a pool size" in done.stderr
    assert not (tmp_path / "data").exists(), "no run was begun"


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("--curve", "a.csv", "--run", "b.jsonl"), "--curve: make a run with `poolsize import`"),
        (("--curve", "a.csv", "--rate", "400/s"), "--curve: make a run with `poolsize import`"),
        (("--curve", "a.csv", "--cache-hit-rate", "0.5"), "--cache-hit-rate: a curve has no use for this value"),
        (("--curve", "none.csv"), "none.csv"),
        (("mysql://root:hunter2@db/shop",), "write --run RUN, --curve FILE... or --url URL"),
    ],
)
def test_a_curve_with_what_it_can_not_have_is_refused(
    poolsize_here: Command, tmp_path: Path, words: tuple[str, ...], refusal: str
) -> None:
    (tmp_path / "a.csv").write_text(MEANS["threads,tps"])
    done = poolsize_here("recommend", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert refusal in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("name", sorted(path.name for path in OUTPUTS.iterdir()))
def test_a_real_output_is_answered_even_where_its_steps_fail_a_check(poolsize_here: Command, name: str) -> None:
    """Nothing can be measured again: a recorded step that is not steady is used, and the run is not incomplete."""
    done = poolsize_here("recommend", "--curve", str(OUTPUTS / name), "--json")
    sizes = read_logs([OUTPUTS / name]).sizes
    has_answer = len(sizes) > 1
    assert done.returncode == (0 if has_answer else 1), done.stderr
    assert json.loads(done.stdout)["pool_size"] in (sizes if has_answer else [None])
