"""Texts of programs that print one figure for a run: mysqlslap, HammerDB, wrk and wrk2."""

import re
from collections.abc import Iterator
from pathlib import Path

from poolsize.errors import BadInput
from poolsize.recordings.importers.load_run import LoadRun, mean_of_run, usual_quantile
from poolsize.recordings.recording import lines_of, table_of

SLAP = {
    "Average number of seconds to run all queries": "s",
    "Number of clients running queries": "clients",
    "Average number of queries per client": "queries",
}
"""Name of a figure of mysqlslap's -> what it is."""
SLAP_LINE = re.compile(rf"({'|'.join(SLAP)}): {{1,9}}(\d{{1,12}}(?:\.\d{{1,12}})?)")
USERS = re.compile(
    r"(?:.{0,30}:)? {0,9}\"?(?:\d{1,9} VU \* \d{1,9} AC = )?(\d{1,9}) Active (?:Virtual Users|Sessions) configured"
)
"""HammerDB's. A virtual user has a connection; with asynchronous clients (AC), each of these has one."""
RESULT = re.compile(r".{0,60}System achieved (\d{1,15}) (?:NOPM|.{1,30} TPM) (?:from|at) (\d{1,15}) (.{1,30} TPM|NOPM)")
WRK_CONNECTIONS = re.compile(r"\d{1,9} threads and (\d{1,9}) connections")
WRK_QUANTILE = re.compile(r"(\d{1,3}(?:\.\d{1,5})?)% {1,20}(\d{1,12}(?:\.\d{1,6})?)(us|ms|s|m|h)$")
WRK_REQUESTS = re.compile(r"(\d{1,15}) requests in (\d{1,12}(?:\.\d{1,6})?)(us|ms|s|m|h),")
WRK_FAILED = re.compile(r"Non-2xx or 3xx responses: (\d{1,15})")
WRK_RATE = re.compile(r"Requests/sec: {1,20}(\d{1,15}(?:\.\d{1,6})?)")
MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}


def slap(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield the runs of mysqlslap's text: queries per second of each number of clients."""
    figures: dict[str, float] = {}
    for line in map(str.strip, lines_of(path, text)):
        if match := SLAP_LINE.match(line):
            figures[SLAP[match[1]]] = float(match[2])
        if figures.keys() == {"s", "clients", "queries"}:
            yield _of_slap(path, **figures)
            figures = {}


def slap_table(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield the runs of mysqlslap's --csv: engine, kind, mean, shortest, longest seconds, clients, queries of each."""
    for row in table_of(path, text):
        if not row:
            continue
        try:
            _, _, seconds, _, _, clients, queries = row[:7]
            figures = float(seconds), float(clients), float(queries)
        except ValueError:
            raise BadInput(f"{path}: a line lacks a figure that mysqlslap --csv writes") from None
        yield _of_slap(path, *figures)


def _of_slap(path: Path, s: float, clients: float, queries: float) -> LoadRun:
    if not s > 0 or not queries >= 1 or not 1 <= clients <= 1e9:
        raise BadInput(f"{path}: mysqlslap ran no query per client, or in no time: give more with --number-of-queries")
    return mean_of_run(int(clients), clients * queries / s)


def hammerdb(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield the runs of HammerDB's output: transactions (TPM) per second of each number of virtual users."""
    users, is_any = 0, False
    for line in map(str.strip, lines_of(path, text)):
        if match := USERS.match(line):
            users = int(match[1])
        elif match := RESULT.match(line):
            if not users:
                raise BadInput(f"{path}: a result has no line `Active Virtual Users configured` before it")
            per_minute = int(match[2] if match[3] != "NOPM" else match[1])
            yield mean_of_run(users, per_minute / 60)
            users, is_any = 0, True
    if not is_any:
        raise BadInput(f"{path} has no line `TEST RESULT : System achieved ... NOPM from ... TPM` of HammerDB's")


def wrk(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield the runs of outputs of wrk and wrk2: requests per second without failed ones, at so many connections.

    The percentile, which --latency prints, is p95 where it is there, else the highest below p99.9.
    """
    connections, failed, quantiles, seconds = 0, 0, dict[str, float](), 0.0
    is_any = False
    for line in map(str.strip, lines_of(path, text)):
        if match := WRK_CONNECTIONS.match(line):
            connections, failed, quantiles = int(match[1]), 0, {}
        elif (match := WRK_QUANTILE.match(line)) and float(match[1]) <= 99:
            quantiles[match[1]] = float(match[2]) * MS[match[3]]
        elif match := WRK_REQUESTS.match(line):
            seconds = float(match[2]) * MS[match[3]] / 1000
        elif match := WRK_FAILED.match(line):
            failed = int(match[1])
        elif (match := WRK_RATE.match(line)) and connections:
            name, ms = usual_quantile(quantiles) or (None, 0.0)
            rate = float(match[1]) - (failed / seconds if seconds else 0.0)
            yield mean_of_run(connections, max(0.0, rate), ms, name)
            connections, is_any = 0, True
    if not is_any:
        raise BadInput(f"{path}: a run of wrk has no line Requests/sec after its connections: it did not end")
