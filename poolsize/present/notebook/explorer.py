"""Sliders for a notebook: what the answer becomes with another tolerance, a latency limit, or other cores."""

import ipywidgets as widgets

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.analysis.plateau import TOLERANCE
from poolsize.answer.latency_limit import LatencyLimits
from poolsize.answer.prediction import Prediction, WhatIf, predict
from poolsize.answer.recommendation import Recommendation, recommend
from poolsize.errors import PoolsizeError
from poolsize.present.text.bullets import bullets
from poolsize.present.text.sentences.findings import warning_sentences
from poolsize.runs.run import Run
from poolsize.units import count, milliseconds, per_second, percent

LOOSEST = 0.2
MOST_CORES = 16
"""The cores' slider goes to so many times the run's."""


def explored(run: Run, tolerance: float = TOLERANCE, max_p95_ms: float | None = None, cores: int | None = None) -> str:
    """The answer under these wishes, in a few lines. max_p95_ms: of the total time, or None for no limit.

    cores: of the database's host; with others than the run's the fitted network predicts.
    """
    analysis = analyze(run, tolerance)
    try:
        answer = recommend(analysis, LatencyLimits(max_p95_ms=max_p95_ms))
    except PoolsizeError as error:
        return str(error)
    if answer.pool_size is None:
        return f"No answer: {warning_sentences(answer.findings)[0]}"
    said = [_answer(analysis, answer)]
    if max_p95_ms is not None:
        limit = milliseconds(max_p95_ms)
        p95_ms = analysis.by_size.latency_ms("p95", answer.pool_size)
        kept = "keeps" if p95_ms <= max_p95_ms else "breaks"
        said.append(f"Its p95 of {milliseconds(p95_ms)} {kept} the limit of {limit}.")
    if cores is not None and cores != run.setting.cores:
        said.append(_with_cores(analysis, cores, tolerance))
    return bullets(said)


def explorer(run: Run) -> widgets.Widget:
    """Sliders and the answer below them; needs a running kernel. A limit at 0 is none."""
    analysis = analyze(run)
    slowest = max((size.total.p95 for size in analysis.sizes if size.total.p95 > 0), default=1000.0)
    wide = {"style": {"description_width": "8em"}, "layout": {"width": "32em"}, "continuous_update": False}
    tolerance = widgets.FloatSlider(
        value=TOLERANCE, min=0.01, max=LOOSEST, step=0.01, readout_format=".0%", description="tolerance", **wide
    )
    limit = widgets.FloatSlider(
        value=0, min=0, max=2 * slowest, step=slowest / 50, readout_format=".3g",
        description="p95 limit (ms)", **wide,
    )  # fmt: skip
    cores = widgets.IntSlider(
        value=run.setting.cores, min=1, max=MOST_CORES * run.setting.cores, description="database cores", **wide
    )

    def show(tolerance: float, max_p95_ms: float, cores: int) -> None:
        print(explored(run, tolerance, max_p95_ms or None, cores))  # what an output widget shows

    shown = widgets.interactive_output(show, {"tolerance": tolerance, "max_p95_ms": limit, "cores": cores})
    sliders = [tolerance, limit, cores] if analysis.knows_p95 else [tolerance, cores]
    return widgets.VBox([*sliders, shown])


def _answer(analysis: Analysis, answer: Recommendation) -> str:
    assert answer.pool_size
    assert analysis.plateau
    makes = f"{count(answer.pool_size, 'connection')}: {per_second(answer.throughput or 0)}"
    if answer.pool_size != analysis.plateau.pool_size:
        return f"{makes}, for the latency limit; for throughput alone it would be {analysis.plateau.pool_size}."
    low, high = answer.range or (answer.pool_size, answer.pool_size)
    between = "" if low == high else f"; anything from {low} to {high} can't be told apart from it"
    return f"{makes}, within {percent(analysis.plateau.tolerance)} of the best{between}."


def _with_cores(analysis: Analysis, cores: int, tolerance: float) -> str:
    try:
        predicted = predict(analysis, WhatIf(cores=cores))
    except PoolsizeError as error:
        return str(error)
    size, rate = _smallest_enough(predicted, tolerance)
    return (
        f"With {count(cores, 'core')} the network that was fitted to the run predicts {per_second(rate)} with "
        f"{count(size, 'connection')}; where it was measured it is {percent(predicted.error)} off."
    )


def _smallest_enough(predicted: Prediction, tolerance: float) -> tuple[int, float]:
    """The smallest predicted size within the tolerance of the best, and its throughput."""
    best = max(one.throughput for one in predicted.sizes)
    enough = next(one for one in predicted.sizes if one.throughput >= (1 - tolerance) * best)
    return enough.pool_size, enough.throughput
