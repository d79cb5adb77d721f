"""Run <-> file: JSON Lines, one file a run, with a header and one line a step; a line is on disk when its step ends."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from poolsize.errors import BadInput, WorkFailed
from poolsize.runs.line_file import LineWriter, RunLine, naming_line, record_of, require_format, run_lines
from poolsize.runs.plan import MOST_STEPS, SearchEnd, SweepPlan
from poolsize.runs.run import Calibration, Run, Setting, Step
from poolsize.terminal import pasteable

FORMAT = 8
"""The version of the only format that is read. The formats before it were never released."""

_SETTING = TypeAdapter(Setting)
_KINDS: dict[str, TypeAdapter[Any]] = {
    "calibration": TypeAdapter(Calibration),
    "plan": TypeAdapter(SweepPlan),
    "ended": TypeAdapter(SearchEnd),
    "step": TypeAdapter(Step),
}
"""The only key of a line after the first -> its record."""


class RunWriter(LineWriter):
    """Appends records to a run's file."""

    KIND = "run"
    TOO_LONG = "is as long as a run may be, and keeps its steps: start another run"

    def __init__(self, path: Path, setting: Setting, *, resume: bool = False) -> None:
        """Make the file and its header, or open that of the run to resume (`resume`). Raises as LineWriter does.

        A plan other than the run began with extends the run. It is written before the next record: until then, a
        finished run stays finished.
        """
        super().__init__(path, None if resume else {"format": FORMAT, "setting": _SETTING.dump_python(setting)})
        self._extension = setting.plan if resume and setting.plan != load_setting(path).plan else None

    def append(self, step: Step) -> None:
        """Append a step, and wait until it is on the disk. Raises WorkFailed for a step that can't be stored."""
        self._append_extension()
        self._append("step", step)

    def append_calibration(self, calibration: Calibration) -> None:
        """Append the cost of a worker; of several calibrations in a file, the last counts."""
        self._append("calibration", calibration)

    def append_end(self, reason: SearchEnd) -> None:
        """Append the reason why a search ended."""
        self._append_extension()
        self._append("ended", reason)

    def _append_extension(self) -> None:
        if self._extension is not None:
            self._append("plan", self._extension)
            self._extension = None

    def _append(self, kind: str, record: Calibration | SweepPlan | SearchEnd | Step) -> None:
        self._write({kind: _KINDS[kind].dump_python(record)})


def load_run(path: str | os.PathLike[str], *, torn_end: bool = False) -> Run:
    """Return the run in a file. The check `speed` of a step is by the steps up to it; `analyze` judges by all steps.

    torn_end: whether to accept a last line that was cut off while it was written; the run is then without it.
    Raises BadInput for a file that is not a run, is damaged, or has another format. Raises WorkFailed for a
    cut-off last line without torn_end; the error names the command that finishes the run.
    """
    path = Path(path)
    lines = run_lines(path)
    run = _run_without_steps(path, next(lines, None))
    steps: list[Step] = []
    for line in lines:
        if line.is_torn and torn_end:
            break
        if line.is_torn:
            raise WorkFailed(
                f"{path}: line {line.number} is cut off after {len(steps)} complete step(s), which are kept; "
                f"finish the run with: {resume_command(path)}"
            )
        record = record_of(path, line)
        with naming_line(path, line):
            kind = next((kind for kind in _KINDS if kind in record), "step")
            match _KINDS[kind].validate_python(record.get(kind)):
                case Calibration() as calibration:
                    run = replace(run, calibration=calibration)
                case SearchEnd() as ended:
                    run = replace(run, ended=ended)
                case SweepPlan() as plan:
                    run = extended(run, plan)
                case Step() as step:
                    steps.append(step)
        if len(steps) > MOST_STEPS:
            raise BadInput(f"{path} has more than {MOST_STEPS:,} steps: it is not poolsize's, or was changed by hand")
    return replace(run, steps=tuple(steps))


def extended(run: Run, plan: SweepPlan) -> Run:
    """Return a run with a plan that extends its own: a search that had ended goes on. Raises BadInput for another plan.

    The plan may be the run's own, which changes nothing.
    """
    if not plan.extends(run.plan):
        raise BadInput("the plan is not one that extends the run's")
    ended = run.ended if plan == run.plan else None
    return replace(run, setting=replace(run.setting, plan=plan), ended=ended)


def _run_without_steps(path: Path, first: RunLine | None) -> Run:
    """Return the run without its steps. first: the file's first line. Raises BadInput for no run."""
    if first is None or first.is_torn:
        raise BadInput(f"{path} has no complete header, so nothing was measured in it: start a new sweep")
    header = record_of(path, first)
    if "observation_format" in header:
        raise BadInput(
            f"{path} is an observation, not a run: give it to `poolsize report`, or to `poolsize recommend` as "
            "`observation`"
        )
    if "format" not in header:
        raise BadInput(f"{path} is not a run of poolsize: its first line names no format")
    require_format(path, header["format"], FORMAT, "measure again")
    with naming_line(path, first):
        return Run(_SETTING.validate_python(header.get("setting")), ())


def load_setting(path: Path) -> Setting:
    """Return the setting with which the run in a file began. Raises BadInput for a file without one."""
    return _run_without_steps(path, next(run_lines(path), None)).setting


def named_by(setting: Setting) -> dict[str, Any]:
    """Return what a run names and a sweep would open, execute or set: parameter -> value.

    Runs of others are data, so a resumed sweep takes none of it from the run: the user gives it again.
    """
    if setting.application is not None:
        return {"application": setting.application.file}
    of_name = hashlib.sha256((setting.recording or "").encode()).hexdigest()  # a run has that of a published curve
    named = {
        "workload": setting.own_workload,
        "replay": None if of_name == setting.workload_sha256 else setting.recording,
        "schema": setting.schema,
        "server_options": dict(setting.server_options),
    }
    return {name: value for name, value in named.items() if value}


def resume_command(path: str | os.PathLike[str], extending: dict[str, str] | None = None) -> str:
    """Return the command that finishes a run, quoted for a shell, with all that the run names; flags are parameters.

    path: of the run; of two runs that were measured in turn, of the first. extending: parameter -> text of the options
    that extend the run. A run that `poolsize import` wrote can't go on: the text says to import its files again.
    """
    path = Path(path)
    setting = _setting_in(path)
    if setting and setting.recording and setting.plan.attempts == 1:
        words = parameter_words({"output": "RUN.jsonl"})
        return " ".join(["poolsize import FILE...", *words]) + ", with the files from which the run was imported"
    named = named_by(setting) if setting else {}
    if (other := other_path(path)).exists():
        own, others = (each.server_options if each else {} for each in (setting, _setting_in(other)))
        named["against_options"] = {name: value for name, value in others.items() if own.get(name) != value}
    return " ".join(["poolsize sweep", *parameter_words({"resume": str(path)} | named | (extending or {}))])


def parameter_words(named: Mapping[str, Any]) -> list[str]:
    """Return the words of a command that give these parameters, quoted for a shell.

    named: parameter -> text, or variable -> value. A text can't pass for another option.
    """
    pairs = [
        (name, text)
        for name, value in named.items()
        for text in ([f"{key}={item}" for key, item in value.items()] if isinstance(value, Mapping) else [value])
    ]
    return [f"`{name}`{'=' if text.startswith('-') else ' '}{pasteable(text)}" for name, text in pairs]


def _setting_in(path: Path) -> Setting | None:
    try:
        return load_setting(path)
    except BadInput:
        return None


def other_path(path: Path) -> Path:
    """Return the path of the other run of two servers that were measured in turn: shop.jsonl has shop-other.jsonl."""
    return path.with_name(f"{path.stem}-other{path.suffix}")
