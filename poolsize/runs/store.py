"""Run <-> file: JSON Lines, one file a run, with a header and one line a step; a line is on disk when its step ends."""

import hashlib
import json
import os
from array import array
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from poolsize.bounds import LARGEST_NUMBER, OutOfBounds, shown
from poolsize.errors import BadInput, WorkFailed
from poolsize.runs.line_file import LineFile
from poolsize.runs.plan import SearchEnd
from poolsize.runs.run import QUANTILES, Calibration, Run, Setting, Step
from poolsize.runs.run_lines import (
    RunLine,
    json_of,
    naming_line,
    record_of,
    refusal_of,
    run_lines,
    sane_json,
)
from poolsize.runs.speed import with_speed_checks
from poolsize.runs.stored_steps import MOST_BYTES_IN_MEMORY, MOST_IN_MEMORY, StoredSteps
from poolsize.runs.upgrade import upgrade_header, upgrade_record
from poolsize.terminal import pasteable

FORMAT = 8
"""The format's version, and its history:

1: header {format, setting}, then {step} lines.
2: {calibration} lines. In plan: precision, rate, pool_timeout_seconds, error_budget, verify, attempts.
   In step: rate, p95_ms, sections, server, stopped. In worker: cpu_wait.
3: an {ended} line. In plan: search. In setting: recording. A replay has no server, latencies or server_connections.
4: checks and stopped hold figures in place of a sentence: {check, passed, values} and {reason, values}.
   In calibration: no statement_us. In step.server: fewer counters.
5: In plan: pool. In setting: schema and own_wait_time. In step: kinds.
6: In step: backlog, busy and programs. In plan: max_p95_ms and max_p99_ms. In calibration: speed.
   In step.server: machine_speed and machine_steal.
7: In latencies: failed. In step.sections, total counts failed transactions.
8: In setting: given_host, application, ssl_mode and cipher. In step: change_seconds. In latencies, wait and usage may
   be null.
"""

BEGINS_STEP = b'{"step":'

R = TypeVar("R")
_SETTING = TypeAdapter(Setting)
_STEP = TypeAdapter(Step)
_CALIBRATION = TypeAdapter(Calibration)
_ENDED = TypeAdapter(SearchEnd)


class RunWriter(LineFile):
    """Appends records to a run's file. A context manager that closes the file.

    It writes no line that load_run would refuse.
    """

    def __init__(self, path: Path, setting: Setting, *, resume: bool = False) -> None:
        """Make the file and write its header, or open the file of an interrupted run (`resume`).

        Raises as LineFile, and WorkFailed for a header that load_run would refuse.
        """
        header = {"format": FORMAT, "setting": _SETTING.dump_python(setting)}
        super().__init__(path, None if resume else _readable(path, header))

    def append(self, step: Step) -> None:
        """Append a step, and wait until it is on the disk. Raises WorkFailed for a step that can't be stored.

        A figure that no measurement can have, as a server may report it, is stored as not read.
        """
        self.append_record(_readable(self.path, {"step": _STEP.dump_python(_without_absurd(step))}))

    def append_calibration(self, calibration: Calibration) -> None:
        """Append the cost of a worker; of several calibrations in a file, the last counts."""
        self.append_record(_readable(self.path, {"calibration": _CALIBRATION.dump_python(calibration)}))

    def append_end(self, reason: SearchEnd) -> None:
        """Append the reason why a search ended."""
        self.append_record({"ended": reason})


def load_run(path: str | os.PathLike[str], *, torn_end: bool = False) -> Run:
    """Return the run in a file; runs of older formats are upgraded, and the speed checks hold for all of its steps.

    A run of many steps leaves them in its file: see StoredSteps.
    torn_end: whether to accept a last line that was cut off while it was written; the run is then without it.
    Raises BadInput for a file that is no run, is damaged, or was written by a newer poolsize. Raises WorkFailed for a
    cut-off last line without torn_end; the error names the command that finishes the run.
    """
    path = Path(path)
    lines = run_lines(path)
    run, run_format = _run_without_steps(path, next(lines, None))
    latest: list[Step] = []
    offsets = array("Q")
    for line in lines:
        if line.is_torn and torn_end:
            break
        if line.is_torn:
            raise WorkFailed(
                f"{path}: line {line.number} is cut off after {len(offsets)} complete step(s), which are kept; "
                f"finish the run with: {resume_command(path)}"
            )
        record = _upgraded(path, record_of(path, line), run_format)
        with naming_line(path, line):
            match _read(record):
                case Calibration() as calibration:
                    run = replace(run, calibration=calibration)
                case SearchEnd() as ended:
                    run = replace(run, ended=ended)
                case Step() as step:
                    offsets.append(line.offset)
                    keeps = len(offsets) <= MOST_IN_MEMORY and line.offset <= MOST_BYTES_IN_MEMORY
                    latest += [step] if keeps else []
    in_memory = len(offsets) == len(latest)
    steps = tuple(latest) if in_memory else StoredSteps(path, offsets, partial(_read_again, path, run_format))
    return with_speed_checks(replace(run, steps=steps))


def leaving_steps(run: Run, path: Path) -> Run:
    """Return a run that leaves its steps in its file where they are many: see StoredSteps.

    path: of the run's file, which has all of its steps.
    """
    steps = run.steps
    if not isinstance(steps, StoredSteps):
        return replace(run, steps=load_run(path).steps) if len(steps) > MOST_IN_MEMORY else run
    if len(steps.latest) <= MOST_IN_MEMORY:
        return run
    lines = run_lines(path, steps.offsets[-1])
    next(lines)  # the last step that is known to be in the file; the lines after it were written by a RunWriter
    offsets = array("Q", (line.offset for line in lines if line.text.startswith(BEGINS_STEP)))
    return replace(run, steps=steps.moved(offsets))


def _run_without_steps(path: Path, first: RunLine | None) -> tuple[Run, int]:
    """Return the run without its steps, and its format. first: the file's first line. Raises BadInput for no run."""
    if first is None or first.is_torn:
        raise BadInput(f"{path} has no complete header, so nothing was measured in it: start a new sweep")
    header = record_of(path, first)
    if "format" not in header:
        raise BadInput(f"{path} is not a run of poolsize: its first line names no format")
    if header["format"] not in range(1, FORMAT + 1):
        raise BadInput(
            f"{path} has format {header['format']}; this poolsize reads up to {FORMAT}: "
            "upgrade it with pip install --upgrade poolsize"
        )
    if header["format"] < FORMAT:
        upgrade_header(header)
    with naming_line(path, first):
        return Run(_SETTING.validate_python(header.get("setting")), ()), int(header["format"])


def _read(record: Mapping[str, Any]) -> Calibration | SearchEnd | Step:
    """Return what a line after the first holds, in today's format. Raises ValidationError and OutOfBounds."""
    if "calibration" in record:
        return _CALIBRATION.validate_python(record["calibration"])
    if "ended" in record:
        return _ENDED.validate_python(record["ended"])
    return _consistent(_STEP.validate_python(record.get("step")))


def _readable(path: Path, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as JSON has it, once it was read as load_run reads it. Raises WorkFailed for one that is refused.

    Otherwise the refusal would come after the whole measurement.
    """
    try:
        stored: dict[str, Any] = sane_json(json.dumps(record).encode() + b"\n")
        _ = _SETTING.validate_python(stored["setting"]) if "setting" in stored else _read(stored)
    except (ValidationError, BadInput, OutOfBounds) as error:
        raise WorkFailed(f"{path}: the run can't be stored: {refusal_of(error)}") from None
    return stored


def _without_absurd(step: Step) -> Step:
    """Return a step in which figures of others that no measurement has are as if they had not been read."""
    server = {name: tuple(map(_possible, values)) for name, values in step.server.items()}
    programs = {name: cores for name, cores in step.programs.items() if 0 <= cores <= LARGEST_NUMBER}
    return replace(step, server=server, programs=programs)


def _possible(value: float | None) -> float | None:
    return value if value is None or -LARGEST_NUMBER <= value <= LARGEST_NUMBER else None


def _upgraded(path: Path, record: dict[str, Any], run_format: int) -> dict[str, Any]:
    """Return the record of a line after the first, in today's format. Raises BadInput for a damaged record."""
    if run_format < FORMAT:
        try:
            upgrade_record(record, run_format)
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # of fields that have another shape
            raise BadInput(f"{path}: a field of format {run_format} is damaged: {shown(error.args)}") from None
    return record


def _read_again(path: Path, run_format: int, text: bytes) -> Step:
    """Return the step on a line that was valid before. Raises BadInput where the file has changed since."""
    try:
        return _STEP.validate_python(_upgraded(path, json_of(text), run_format)["step"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise BadInput(f"{path} has changed while it was read: start again") from None


def _consistent(step: Step) -> Step:
    """Return a step whose series are whole. Raises OutOfBounds for another.

    A series has a value for each second, or none. A latency has the sections of all quantiles, or of none; a section
    lasts a second or longer. Wait and usage times are known together.
    """
    series = {"p95_ms": step.p95_ms, "backlog": step.backlog, "busy": step.busy, **step.errors, **step.server}
    for name, values in series.items():
        if values and len(values) != len(step.throughput):
            raise OutOfBounds(f"{name} has {len(values)} seconds, and throughput has {len(step.throughput)}")
    for latency, quantiles in step.sections.items():
        if missing := QUANTILES.keys() - quantiles.keys():
            raise OutOfBounds(f"sections.{latency} has no {min(missing)}")
        if (most := max(map(len, quantiles.values()))) > len(step.throughput):
            raise OutOfBounds(
                f"sections.{latency} has {most} sections, and throughput has {len(step.throughput)} seconds"
            )
    if step.latencies and (step.latencies.wait is None) != (step.latencies.usage is None):
        raise OutOfBounds("of latencies.wait and latencies.usage, only one is null")
    return step


def load_setting(path: Path) -> Setting:
    """Return the setting of the run in a file. Raises BadInput for a file without one."""
    return _run_without_steps(path, next(run_lines(path), None))[0].setting


def named_by(setting: Setting) -> dict[str, Any]:
    """Return what a run names and a sweep would open, execute or set: parameter -> value.

    Runs of others are data, so a resumed sweep takes none of it from the run: the user gives it again.
    """
    if setting.application is not None:
        return {"application": setting.application.file}
    named = {
        "workload": setting.own_workload,
        "replay": None if _is_name(setting.recording, setting.workload_sha256) else setting.recording,
        "schema": setting.schema,
        "server_options": dict(setting.server_options),
    }
    return {name: value for name, value in named.items() if value}


def resume_command(path: str | os.PathLike[str]) -> str:
    """Return the command that finishes a run, quoted for a shell, with all that the run names; flags are parameters.

    path: of the run; of two runs that were measured in turn, of the first.
    """
    path = Path(path)
    named = _named_in(path)
    if (other := other_path(path)).exists():
        own, others = (names.get("server_options", {}) for names in (named, _named_in(other)))
        named["against_options"] = {name: value for name, value in others.items() if own.get(name) != value}
    return " ".join(["poolsize sweep", *parameter_words({"resume": str(path)} | named)])


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


def _named_in(path: Path) -> dict[str, Any]:
    """Return what the run in a file names; nothing where the file can't be read any more."""
    try:
        return named_by(load_setting(path))
    except BadInput:
        return {}


def _is_name(recording: str | None, sha256: str) -> bool:
    """Return whether a recording is a published curve, of which a run has the name's hash."""
    return recording is not None and hashlib.sha256(recording.encode()).hexdigest() == sha256


def other_path(path: Path) -> Path:
    """Return the path of the other run of two servers that were measured in turn: shop.jsonl has shop-other.jsonl."""
    return path.with_name(f"{path.stem}-other{path.suffix}")
