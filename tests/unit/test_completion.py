"""The completion of a shell, run by the shell itself: commands, options, names, and files of runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from poolsize.files import workloads

BASH = """
eval "$(poolsize completion bash)"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
compopt() { COMPREPLY=("files:$*"); }
_poolsize_completion poolsize
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compdef() { }
_path_files() { print files }
compadd() { print -l -- $completions }
_describe() { print -l -- ${completions_with_descriptions%%:*} }
eval "$(poolsize completion zsh)"
words=("$@") CURRENT=$#
_poolsize_completion
"""
FISH = """
poolsize completion fish | source
complete --do-complete "$argv" | string replace --regex '\\t.*' ''
"""
SHELLS = {
    "bash": ["bash", "--norc", "-c", BASH, "bash"],
    "zsh": ["zsh", "-f", "-c", ZSH, "zsh"],
    "fish": ["fish", "--no-config", "-c", FISH],
}
"""Shell -> how it completes the last of the words that follow; click's functions run, without a terminal."""


def completed(shell: str, folder: Path, words: list[str]) -> list[str]:
    """What a shell offers in a folder for the last of the words."""
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on this machine")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "HOME": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    given = [" ".join(words)] if shell == "fish" else words
    done = subprocess.run(
        [*SHELLS[shell], *given], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.long
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_names(shell: str, tmp_path: Path) -> None:
    asked = ["poolsize", "sweep", "--workload", "oltp"]
    assert completed(shell, tmp_path, asked) == [name for name in workloads() if name.startswith("oltp")]


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("not", ["notebook"]),
        ("help rec", ["recommend"]),
        ("recommend --max-p", ["--max-p95", "--max-p99"]),
        ("config --for hik", ["hikaricp"]),
        ("scenario exh", ["exhaustion"]),
        ("completion f", ["fish"]),
        ("analyze a", ["a.jsonl"]),
        ("recommend --run ./", ["./a.jsonl"]),
        ("sweep --resume ", ["a.jsonl"]),
        ("sweep --workload my", ["files:-o", "default"]),
        ("sweep --application ", ["files:-o", "default"]),
        ("config --for x", []),
    ],
)
def test_bash_completes_what_comes_next(tmp_path: Path, words: str, offered: list[str]) -> None:
    (tmp_path / "a.jsonl").touch()
    (tmp_path / "a.txt").touch()
    assert completed("bash", tmp_path, ["poolsize", *words.split(" ")]) == offered


@pytest.mark.long
def test_without_a_run_here_those_of_sweeps_are_completed(tmp_path: Path) -> None:
    runs = tmp_path / "data" / "runs"
    runs.mkdir(parents=True)
    (runs / "b.jsonl").touch()
    assert completed("bash", tmp_path, ["poolsize", "report", ""]) == ["data/runs/b.jsonl"]
