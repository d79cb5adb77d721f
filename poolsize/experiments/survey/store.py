"""Survey <-> file: a header, and a line for each process that has timed its pools."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from poolsize.errors import BadInput
from poolsize.experiments.survey.timing import Timing
from poolsize.record import Amount, Name, Series, record
from poolsize.runs.line_file import LineFile, RunLine, naming_line, record_of, run_lines

FORMAT = 1
"""The format's version."""


@record
class SurveySetting:
    """What a survey times.

    seconds: of each timing. mysqld: path of the server program, or None to search for it. server_options: variables of
    the server.
    """

    seconds: Amount
    mysqld: Name | None
    server_options: Mapping[Name, Name]


@record
class SurveyPart:
    """The timings of a process. process: its name. missing: names of its pools whose libraries are not installed."""

    process: Name
    timings: Series[Timing]
    missing: Series[Name] = ()


@dataclass(frozen=True)
class StoredSurvey:
    """A survey so far. parts: of the processes that have ended."""

    setting: SurveySetting
    parts: tuple[SurveyPart, ...] = ()


_SETTING = TypeAdapter(SurveySetting)
_PART = TypeAdapter(SurveyPart)


class SurveyWriter(LineFile):
    """Appends parts to a survey's file."""

    def __init__(self, path: Path, survey: StoredSurvey, *, resume: bool) -> None:
        """Make the file of a survey, or open that of an interrupted survey (`resume`). Raises as LineFile does."""
        header = {"survey": FORMAT, "setting": _SETTING.dump_python(survey.setting, mode="json")}
        super().__init__(path, None if resume else header)

    def append(self, part: SurveyPart) -> None:
        """Append a part, and wait until it is on the disk. Raises WorkFailed where the disk does not take it."""
        self.append_record({"part": _PART.dump_python(part, mode="json")})


def load_survey(path: Path) -> StoredSurvey:
    """Return the survey in a file, without a last line that is cut off. Raises BadInput for any other file."""
    lines = run_lines(path)
    first = next(lines, None)
    header = record_of(path, first) if first and not first.is_torn else {}
    if first is None or header.get("survey") != FORMAT:
        raise BadInput(f"{path} is not a survey of pools that this poolsize can resume: start a new survey")
    with naming_line(path, first):
        setting = _SETTING.validate_python(header.get("setting"))
    return StoredSurvey(setting, tuple(_part(path, line) for line in lines if not line.is_torn))


def _part(path: Path, line: RunLine) -> SurveyPart:
    record = record_of(path, line)
    with naming_line(path, line):
        return _PART.validate_python(record.get("part"))
