"""Run <-> file: JSON Lines, one file a run, with a header and one line a step; a line is on disk when its step ends."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from poolsize.bounds import OutOfBounds, longer, require_sane_numbers, shown, within
from poolsize.errors import BadInput, WorkFailed
from poolsize.runs.plan import SearchEnd
from poolsize.runs.run import QUANTILES, Calibration, Run, Setting, Step
from poolsize.runs.speed import with_speed_checks
from poolsize.runs.upgrade import upgrade

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

MOST_FILE_BYTES = 2**28
"""The largest file of a run: ten days of steps."""
MOST_LINE_BYTES = 2**23
"""The longest line of a run's file: a step of an hour has less than 1 MB."""
OWNER_ONLY = 0o600
"""A run names servers, accounts and settings."""
ESCAPE, REPLACEMENT = b"\\", "\ufffd"
"""A control character in ASCII JSON begins with a backslash. It is shown as the replacement character."""

_SETTING = TypeAdapter(Setting)
_STEP = TypeAdapter(Step)
_CALIBRATION = TypeAdapter(Calibration)
_ENDED = TypeAdapter(SearchEnd)


class RunWriter:
    """Appends records to a run's file; every appended record is on the disk and survives a crash.

    A context manager that closes the file.
    """

    def __init__(self, path: Path, setting: Setting, *, resume: bool = False) -> None:
        """Make the file and write its header, or open the file of an interrupted run (`resume`).

        Opening an interrupted run's file removes a last line that is cut off. Raises BadInput for a file that can't be
        written, and for a new file that exists already.
        """
        self.path = path
        try:
            if resume:
                _cut_torn_line(path)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if resume else os.O_EXCL)
            self._file = os.fdopen(os.open(path, flags, OWNER_ONLY), "ab", buffering=0)
        except OSError as error:
            way_out = "make the file writable" if resume else "name another `output`"
            raise BadInput(f"{path} can't be written ({error.strerror}): {way_out}") from None
        if not resume:
            self._begin(setting)

    def _begin(self, setting: Setting) -> None:
        """Write the header of a new run. Where the disk does not take it, nothing is left of the file."""
        try:
            self._append({"format": FORMAT, "setting": _SETTING.dump_python(setting, mode="json")})
        except WorkFailed:
            self._file.close()
            self.path.unlink(missing_ok=True)
            raise
        _sync_folder(self.path.parent)

    def append(self, step: Step) -> None:
        """Append a step, and wait until it is on the disk."""
        self._append({"step": _STEP.dump_python(step, mode="json")})

    def append_calibration(self, calibration: Calibration) -> None:
        """Append the cost of a worker; of several calibrations in a file, the last counts."""
        self._append({"calibration": _CALIBRATION.dump_python(calibration, mode="json")})

    def append_end(self, reason: SearchEnd) -> None:
        """Append the reason why a search ended."""
        self._append({"ended": reason})

    def _append(self, record: dict[str, Any]) -> None:
        """Append a record, and wait until it is on the disk. Raises WorkFailed where the disk does not take it."""
        try:
            line = memoryview(json.dumps(record, separators=(",", ":")).encode() + b"\n")
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise WorkFailed(f"{self.path} can't be written: {error.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def load_run(path: str | os.PathLike[str], *, torn_end: bool = False) -> Run:
    """Return the run in a file; runs of older formats are upgraded, and the speed checks hold for all of its steps.

    torn_end: whether to accept a last line that was cut off while it was written; the run is then without it.
    Raises BadInput for a file that is no run, is damaged, or was written by a newer poolsize. Raises WorkFailed for a
    cut-off last line without torn_end; the error names the command that finishes the run.
    """
    path = Path(path)
    lines, torn = _lines(path)
    if not lines:
        raise BadInput(f"{path} has no complete header, so nothing was measured in it: start a new sweep")
    header = _record(path, 1, lines[0])
    if "format" not in header:
        raise BadInput(f"{path} is not a run of poolsize: its first line names no format")
    if header["format"] not in range(1, FORMAT + 1):
        raise BadInput(
            f"{path} has format {header['format']}; this poolsize reads up to {FORMAT}: "
            "upgrade it with pip install --upgrade poolsize"
        )
    if torn and not torn_end:
        raise WorkFailed(
            f"{path}: line {len(lines) + 1} is cut off after {len(lines) - 1} complete step(s), which are kept; "
            f"finish the run with: poolsize sweep `resume` {path}"
        )
    records = [_record(path, number, line) for number, line in enumerate(lines[1:], start=2)]
    if header["format"] < FORMAT:
        try:
            upgrade(header, records)
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # of fields that have another shape
            raise BadInput(f"{path}: a field of format {header['format']} is damaged: {shown(error.args)}") from None
    return _validated(path, header, records)


def _validated(path: Path, header: dict[str, Any], records: list[dict[str, Any]]) -> Run:
    """Return the run of a file's header and other lines, all of today's format. Raises BadInput for damaged lines."""
    calibration = ended = None
    steps = []
    with _naming_line(path, 1):
        setting = _SETTING.validate_python(header.get("setting"))
    for number, record in enumerate(records, start=2):
        with _naming_line(path, number):
            if "calibration" in record:
                calibration = _CALIBRATION.validate_python(record["calibration"])
            elif "ended" in record:
                ended = _ENDED.validate_python(record["ended"])
            else:
                steps.append(_with_whole_series(_STEP.validate_python(record.get("step"))))
    return with_speed_checks(Run(setting, tuple(steps), calibration, ended))


def _with_whole_series(step: Step) -> Step:
    """Return a step whose series are whole. Raises OutOfBounds for another.

    A series has a value for each second, or none. A latency has the sections of all quantiles, or of none.
    """
    series = {"p95_ms": step.p95_ms, "backlog": step.backlog, "busy": step.busy, **step.errors, **step.server}
    for name, values in series.items():
        if values and len(values) != len(step.throughput):
            raise OutOfBounds(f"{name} has {len(values)} seconds, and throughput has {len(step.throughput)}")
    for latency, quantiles in step.sections.items():
        if missing := QUANTILES.keys() - quantiles.keys():
            raise OutOfBounds(f"sections.{latency} has no {min(missing)}")
    return step


@contextmanager
def _naming_line(path: Path, number: int) -> Iterator[None]:
    """Turn the refusal of a line's record into BadInput that names the line, the field and the value."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or error.title
        raise _damaged(path, number, f"{where} is {shown(first['input'])}: {first['msg']}") from None
    except (BadInput, OutOfBounds) as error:  # of a plan; of a step's series
        raise _damaged(path, number, str(error)) from None


def _damaged(path: Path, number: int, why: str) -> BadInput:
    return BadInput(f"{path}: line {number}: {why}; the file was changed by hand, or is damaged")


def _lines(path: Path) -> tuple[list[bytes], bool]:
    """Return the file's complete lines, and whether a line that was cut off follows them."""
    lines: list[bytes] = []
    size = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(MOST_LINE_BYTES + 1):
                lines.append(within(f"{path}: line {len(lines) + 1}", line, MOST_LINE_BYTES))
                size += len(line)
                if size > MOST_FILE_BYTES:
                    raise longer(str(path), MOST_FILE_BYTES)
    except OSError as error:
        raise BadInput(f"{path} can't be read: {error.strerror}") from None
    torn = bool(lines) and not lines[-1].endswith(b"\n")
    return [line[:-1] for line in (lines[:-1] if torn else lines)], torn


def _record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    """Return the JSON object on a line. number: of the line in the file, from 1. Raises BadInput for anything else."""
    try:
        record = json.loads(line)
        if ESCAPE in line or not line.isascii():
            record = _without_controls(record)
        require_sane_numbers(record)
    except OutOfBounds as error:
        raise _damaged(path, number, str(error)) from None
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise BadInput(f"{path}: line {number} is no JSON object; the file is not a run of poolsize, or damaged")
    return record


def _without_controls(value: Any) -> Any:
    """Return a value of JSON with every control character in its texts replaced: a terminal would obey some of them."""
    if isinstance(value, str):
        return "".join(character if character.isprintable() else REPLACEMENT for character in value)
    if isinstance(value, list):
        return [_without_controls(item) for item in value]
    if isinstance(value, dict):
        return {_without_controls(name): _without_controls(item) for name, item in value.items()}
    return value


def _sync_folder(folder: Path) -> None:
    """Write a folder to the disk: only then is the name of a new file in it on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cut_torn_line(path: Path) -> None:
    lines, torn = _lines(path)
    if torn:
        os.truncate(path, sum(len(line) + 1 for line in lines))


def other_path(path: Path) -> Path:
    """Return the path of the other run of two servers that were measured in turn: shop.jsonl has shop-other.jsonl."""
    return path.with_name(f"{path.stem}-other{path.suffix}")
