"""Sliders for a notebook: the answer with another tolerance, a latency limit, or another number of cores."""

import ipywidgets as widgets

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.analysis.plateau import TOLERANCE
from poolsize.answer.from_run import recommend
from poolsize.answer.latency_limit import LatencyLimits
from poolsize.answer.recommendation import Recommendation
from poolsize.errors import PoolsizeError
from poolsize.predict.prediction import WhatIf, predict
from poolsize.present.text.layout import bullets
from poolsize.present.text.sentences.findings import warning_sentences
from poolsize.present.text.short_of_run import range_text
from poolsize.runs.run import Run
from poolsize.units import count, milliseconds, per_second, percent, probability_text

CORES_FACTOR = 16
"""Upper end of the slider for cores, as a multiple of the run's cores."""


def what_if_text(
    run: Run, tolerance: float = TOLERANCE, max_p95_ms: float | None = None, cores: int | None = None
) -> str:
    """Return the answer for another tolerance, latency limit or number of cores, in a few lines.

    tolerance: share of capacity that the answer may lose. max_p95_ms: limit of the p95 total time in ms; None for no
    limit. cores: of the database host; for another number than the run's, the fitted network predicts. Raises
    WorkFailed where nothing was measured.
    """
    analysis = analyze(run, tolerance)
    try:
        answer = recommend(analysis, LatencyLimits(max_p95_ms=max_p95_ms))
    except PoolsizeError as error:
        return str(error)
    if answer.pool_size is None:
        return f"No answer: {warning_sentences(answer.findings)[0]}"
    lines = [_answer(analysis, answer)]
    if max_p95_ms is not None:
        p95_ms = analysis.by_size.latency_ms("p95", answer.pool_size)
        probability = probability_text(answer.limit_probability or 0.0)
        kept = f"It keeps the limit of {milliseconds(max_p95_ms)} with {probability} probability."
        lines.append(f"Its p95 is {milliseconds(p95_ms)}. {kept}")
    if cores is not None and cores != run.setting.cores:
        lines.append(_with_cores(analysis, cores, tolerance))
    return bullets(lines)


def explorer(run: Run) -> widgets.Widget:
    """Return sliders with the answer below them, for a notebook with a running kernel.

    The slider for the p95 limit means no limit at 0. A slider that can change nothing is left out. Raises WorkFailed
    where nothing was measured.
    """
    analysis = analyze(run)
    highest_p95_ms = max((size.total.p95 for size in analysis.sizes if size.total.p95 > 0), default=1000.0)
    layout = {"style": {"description_width": "8em"}, "layout": {"width": "32em"}, "continuous_update": False}
    tolerance = widgets.FloatSlider(
        value=TOLERANCE, min=0.01, max=0.2, step=0.01, readout_format=".0%", description="tolerance", **layout
    )
    limit = widgets.FloatSlider(
        value=0, min=0, max=2 * highest_p95_ms, step=highest_p95_ms / 50, readout_format=".3g",
        description="p95 limit (ms)", **layout,
    )  # fmt: skip
    cores = widgets.IntSlider(
        value=run.setting.cores, min=1, max=CORES_FACTOR * run.setting.cores, description="database cores", **layout
    )

    def show(tolerance: float, max_p95_ms: float, cores: int) -> None:
        print(what_if_text(run, tolerance, max_p95_ms or None, cores))  # an output widget shows standard output

    output = widgets.interactive_output(show, {"tolerance": tolerance, "max_p95_ms": limit, "cores": cores})
    network = analysis.models.network
    sliders = [tolerance]
    if analysis.knows_p95:
        sliders.append(limit)
    if network and network.cpu.demand_ms:
        sliders.append(cores)
    return widgets.VBox([*sliders, output])


def _answer(analysis: Analysis, answer: Recommendation) -> str:
    assert answer.pool_size
    assert analysis.plateau
    size_and_rate = f"{count(answer.pool_size, 'connection')}: {per_second(answer.throughput or 0)}"
    if answer.pool_size != analysis.plateau.pool_size:
        return f"{size_and_rate}, for the latency limit; for throughput alone it would be {analysis.plateau.pool_size}."
    between = f"; {text}" if (text := range_text(answer)) else ""
    return f"{size_and_rate}, within {percent(analysis.plateau.tolerance)} of capacity{between}."


def _with_cores(analysis: Analysis, cores: int, tolerance: float) -> str:
    try:
        prediction = predict(analysis, WhatIf(cores=cores))
    except PoolsizeError as error:
        return str(error)
    highest = max(size.throughput for size in prediction.sizes)
    smallest = next(size for size in prediction.sizes if size.throughput >= (1 - tolerance) * highest)
    return (
        f"With {count(cores, 'core')} the network that was fitted to the run predicts "
        f"{per_second(smallest.throughput)} with {count(smallest.pool_size, 'connection')}. "
        "With the run's own cores, the network differs from the measurement by "
        f"{100 * prediction.error:.1f} %."
    )
