"""The completions of options and arguments in a shell: names, files of runs, and other files."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # only a shell that completes needs it
    import click
    from click.shell_completion import CompletionItem


def completed_by(
    names: Callable[[str], Iterable[str]], *, else_files: bool
) -> "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]":
    """Return the function, for click, that completes a word to the names that begin with it.

    names: called with the word. else_files: whether the shell completes files where no name begins with it.
    """

    def completed(_: "click.Context", __: "click.Parameter", word: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        items = [CompletionItem(name) for name in names(word) if name.startswith(word)]
        return items or ([CompletionItem(word, type="file")] if else_files else [])

    return completed


def _runs(word: str) -> list[str]:
    """Return the files of runs that begin with the word; without a word and a file here, those in RUN_FOLDER."""
    from glob import escape, glob

    files = sorted(glob(f"{escape(word)}*.jsonl"))  # noqa: PTH207 (pathlib would change what was typed: ./a)
    if files or word:
        return files
    from poolsize.sweep.options import RUN_FOLDER

    return sorted(glob(f"{RUN_FOLDER}/*.jsonl"))  # noqa: PTH207


def _workloads(_: str) -> Iterable[str]:
    from poolsize.files import workloads

    return workloads()


def _recordings(_: str) -> Iterable[str]:
    from poolsize.recordings.published import published_curves

    return published_curves()


complete_files = completed_by(lambda _: (), else_files=True)
complete_runs = completed_by(_runs, else_files=True)
OF_SWEEP = {
    "workload": completed_by(_workloads, else_files=True),
    "replay": completed_by(_recordings, else_files=True),
    "resume": complete_runs,
}
"""Parameter of a sweep's option -> its completion. Other options complete files, if they name a path, or nothing."""
