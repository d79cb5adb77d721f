"""Files that are not what they say are refused in one line, quickly and within little memory."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.analysis.analysis import analyze
from poolsize.errors import PoolsizeError
from poolsize.runs.store import load_run
from tests.conftest import ROOT, in_ci
from tests.hostile import leaves
from tests.hostile_files import changed, run_lines, written

RECORDS = run_lines(steps=1)
PLACES = [(line, at) for line, record in enumerate(RECORDS) for at in leaves(record)]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.long
@given(place=st.sampled_from(PLACES), value=JSON)
def test_any_value_in_any_field_is_read_or_refused(place: tuple[int, tuple[str | int, ...]], value: object) -> None:
    line, at = place
    records = [*RECORDS[:line], changed(RECORDS[line], at, value), *RECORDS[line + 1 :]]
    with TemporaryDirectory() as folder, suppress(PoolsizeError):
        analyze(load_run(written(records, Path(folder) / "run.jsonl")))


@pytest.mark.long
@pytest.mark.parametrize(
    ("changed_runs", "kind"), in_ci([("12", "none"), ("24", "none"), ("0", "special")], ("12", "none"))
)
def test_no_file_breaks_a_command(changed_runs: str, kind: str) -> None:
    """Some of the files of `scripts/experiments hostile corpus`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile", "corpus", changed_runs, kind],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-4]) > 7
