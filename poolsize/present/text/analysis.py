"""An analysis as text for a terminal."""

from poolsize.analysis.analysis import Analysis
from poolsize.answer.verdict import NOISY_SPAN
from poolsize.present.text.knee import knee_text
from poolsize.present.text.sentences.bottlenecks import bottleneck_evidence
from poolsize.present.text.sentences.checks import check_sentence
from poolsize.present.text.tables import estimators_table, sizes_table, verified_table
from poolsize.units import count, milliseconds, percent


def analysis_text(analysis: Analysis) -> str:
    """Return a table with one row a pool size, the curve in letters, the estimates and the bottleneck."""
    setting = analysis.setting
    title = f"{run_title(analysis)}, {setting.plan.step_seconds} s a step, {setting.created[:10]}"
    parts = [
        title,
        sizes_table(analysis).as_text(),
        knee_text(analysis),
        _estimates(analysis),
        estimators_table(analysis).as_text() if analysis.models.estimates else "",
        _bottleneck(analysis),
        _verified(analysis),
        "\n".join(excluded_steps(analysis)),
    ]
    return "\n\n".join(part for part in parts if part)


def run_title(analysis: Analysis) -> str:
    """Return a title of the run: workload, server and number of users."""
    setting = analysis.setting
    users = "" if setting.recording else f", {count(setting.plan.users, 'user')}"
    return f"{setting.plan.workload} on {setting.subject}{users}"


def excluded_steps(analysis: Analysis) -> tuple[str, ...]:
    """Return a line for each step that no figure is made of, with the checks that failed."""
    return tuple(
        f"Void, and measured again: {count(step.pool_size, 'connection')}; "
        + "; ".join(f"{result.check}: {check_sentence(result)}" for result in step.failed_checks)
        for step in analysis.excluded
    )


def _estimates(analysis: Analysis) -> str:
    plateau = analysis.plateau
    if plateau is None:
        return "No size passed the checks that an estimate needs."
    wide = " That is too wide for an answer." if plateau.high > NOISY_SPAN * plateau.low else ""
    return (
        f"Plateau: {count(plateau.pool_size, 'connection')}, the smallest size within {percent(plateau.tolerance)} "
        f"of the best throughput; it may begin anywhere from {plateau.low} to {plateau.high}.{wide}"
    )


def _bottleneck(analysis: Analysis) -> str:
    """Return the bottleneck and the service demands at the plateau."""
    if analysis.bottleneck is None or analysis.plateau is None:
        return ""
    name, values = analysis.bottleneck.name, analysis.bottleneck.values
    text = f"Held by: {name}; {bottleneck_evidence(name, values)}."
    nearest = analysis.by_size.nearest(analysis.plateau.pool_size)
    demands = nearest.demands
    if demands is not None:
        whose = "everything else" if demands.inferred else "the server's"
        text += (
            f"\nA transaction takes {milliseconds(demands.client_ms)} of the client's processor and "
            f"{milliseconds(demands.server_ms)} of {whose} at {count(nearest.pool_size, 'connection')}."
        )
    return text


def _verified(analysis: Analysis) -> str:
    if not analysis.verified:
        return ""
    table = verified_table(analysis).as_text()
    return f"At a part of its own capacity, with transactions that arrive by the clock:\n\n{table}"
