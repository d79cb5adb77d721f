"""What a report costs: a run with a hundred times the steps may take a hundred times as long, and stay small."""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

from poolsize.analysis.analysis import analyze
from poolsize.answer.from_run import recommend
from poolsize.files import shipped
from poolsize.present.report import report_html
from poolsize.runs.run import Run, Step
from poolsize.runs.store import RunWriter, load_run
from poolsize.sweep.next_step import grid_steps
from tests.conftest import curve_of

SECONDS = 600
BAR, MOST_BYTES = 100.0, 5_000_000
LAYOUTS = {"10 sizes, measured 100 times": (10, 100), "1,000 sizes, measured once": (1000, 1)}


def main() -> int:
    example = load_run(shipped("data/examples/oltp_read_write-mariadb.jsonl"))
    short, _ = cost_of(example, 10, 1)
    failed = 0
    for name, (sizes, repeats) in LAYOUTS.items():
        long, length = cost_of(example, sizes, repeats)
        ratio = long / short
        print(
            f"report of {sizes * repeats:,} steps of {SECONDS} s ({name}) / of 10: {ratio:.1f} (bar {BAR:g}); "
            f"{long:.1f} s of CPU and {short:.2f} s; {length / 1e6:.2f} MB (bar {MOST_BYTES / 1e6:g})"
        )
        failed |= ratio > BAR or length > MOST_BYTES
    return int(failed)


def cost_of(example: Run, sizes: int, repeats: int) -> tuple[float, int]:
    """Processor time from the stored run to the page, and the page's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        stored(example, sizes, repeats, path)
        begun = process_time()
        analysis = analyze(load_run(path))
        text = report_html(analysis, recommend(analysis))
        return process_time() - begun, len(text.encode())


def stored(example: Run, sizes: int, repeats: int, path: Path) -> None:
    """A run of so many steps, each like one of the example's, with seconds of their own."""
    random = np.random.default_rng(0)
    plan = replace(
        example.plan, sizes=tuple(range(1, sizes + 1)), repeats=repeats, users=2 * sizes, step_seconds=SECONDS
    )
    with RunWriter(path, replace(example.setting, plan=plan)) as writer:
        for planned in grid_steps(plan):
            like = curve_of(example)[planned.order % len(curve_of(example))]
            rate = 500 * planned.pool_size / (planned.pool_size + 0.1 * sizes)
            writer.append(
                lengthened(like, planned.pool_size, planned.repeat, planned.order, random.poisson(rate, SECONDS))
            )


def lengthened(
    like: Step, size: int, repeat: int, order: int, throughput: "np.ndarray[tuple[int], np.dtype[np.int64]]"
) -> Step:
    seconds = like.warm_up_seconds + SECONDS
    rates = tuple(throughput.tolist())
    return replace(
        like,
        pool_size=size,
        repeat=repeat,
        order=order,
        throughput=(*rates[: like.warm_up_seconds], *rates),
        p95_ms=tuple(np.resize(like.p95_ms, seconds).tolist()),
        server={name: tuple(np.resize(np.array(values), seconds).tolist()) for name, values in like.server.items()},
        server_connections=size,
        checks=tuple(check for check in like.checks if check.passed),
    )


if __name__ == "__main__":
    sys.exit(main())
