"""The pictures of a terminal in README.md: a stored search as it was printed, and its short answer.

To draw them again: python -m tests.terminal_picture
"""

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME

from poolsize.analysis.analysis import analyze
from poolsize.answer.from_run import recommend
from poolsize.command_line.run_file import next_commands
from poolsize.present.text.progress import ProgressBar
from poolsize.present.text.short_of_run import run_in_short
from poolsize.runs.store import load_run
from poolsize.sweep.loop import events_of
from poolsize.terminal import pasteable

ROOT = Path(__file__).parents[1]
RUN = ROOT / "data/examples/search-mariadb.jsonl"
PRINTED = "search.jsonl"
"""Path of the run, as the picture shows it."""
WIDTH = 112
FONTS = re.compile(r"\s*@font-face \{[^}]*\}")
"""Fonts that a viewer would load from a server of others."""
PICTURES = {"light": DEFAULT_TERMINAL_THEME, "dark": SVG_EXPORT_THEME}
"""Name of a picture -> its colours."""


def drawn(name: str) -> str:
    """Return the picture as SVG."""
    run = load_run(RUN)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=False, highlight=False, markup=False)
    console.print("$ poolsize sweep --workload scan", style="bold")
    bar = ProgressBar(console)
    for event in events_of(run, PRINTED):
        bar.show(event)
    console.print()
    analysis = analyze(run)
    answer = recommend(analysis)
    why = pasteable("poolsize", "recommend", "--run", PRINTED, "--why")
    console.print(run_in_short(answer, [*next_commands(PRINTED, analysis, answer), why]))
    svg = console.export_svg(title="poolsize", theme=PICTURES[name], unique_id=f"terminal-{name}")
    return re.sub(r"[ \t]+$", "", FONTS.sub("", svg), flags=re.MULTILINE)


def path(name: str) -> Path:
    """Return the path of a picture."""
    return ROOT / f"docs/terminal-{name}.svg"


if __name__ == "__main__":
    for each in PICTURES:
        path(each).write_text(drawn(each), encoding="utf-8")
