"""`poolsize config --check` in pipelines: the formats for GitHub and GitLab, the pre-commit hook, and the action."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from poolsize.answer.finding import Severity
from poolsize.pool_config.check_text import Problem, github_annotations, gitlab_report
from poolsize.pool_config.files.reading import BY_NAME_ONLY, ENDINGS, reader
from tests.conftest import ROOT, Command
from tests.pages import blocks

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
TOO_MANY = "spring.datasource.hikari.maximum-pool-size=200\n"
SHRINKS = "spring.datasource.hikari.maximum-pool-size=9\nspring.datasource.hikari.minimum-idle=5\n"


def problem(**fields: Any) -> Problem:
    values: dict[str, Any] = {
        "file": "app.yml", "line": 5, "setting": "maximumPoolSize", "severity": Severity.WARNING,
        "message": "Too many.", "code": "pool_above_server",
    }  # fmt: skip
    return Problem(**values | fields)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "::error file=app.yml,line=5,title=poolsize maximumPoolSize::Too many."),
        ({"severity": Severity.REASON}, "::notice file=app.yml,line=5,title=poolsize maximumPoolSize::Too many."),
        ({"line": None, "setting": None}, "::error file=app.yml,title=poolsize::Too many."),
        (
            {"message": "25 % more,\r\n::error::a: b"},
            "::error file=app.yml,line=5,title=poolsize maximumPoolSize::25 %25 more,%0D%0A::error::a: b",
        ),
        (
            {"file": "a,b:c%\n::d.yml"},
            "::error file=a%2Cb%3Ac%25%0A%3A%3Ad.yml,line=5,title=poolsize maximumPoolSize::Too many.",
        ),
    ],
)
def test_a_problem_is_a_workflow_command_on_a_line(fields: dict[str, Any], line: str) -> None:
    assert github_annotations([problem(**fields)]) == line


def test_a_problem_is_an_entry_of_a_code_quality_report() -> None:
    (entry,) = json.loads(gitlab_report([problem(severity=Severity.REASON, line=None)]))
    assert re.fullmatch(r"[0-9a-f]{64}", entry.pop("fingerprint"))
    assert entry == {
        "description": "Too many.", "check_name": "pool_above_server", "severity": "info",
        "location": {"path": "app.yml", "lines": {"begin": 1}},
    }  # fmt: skip


def test_fingerprints_differ_within_a_report_and_stay_when_lines_move() -> None:
    def fingerprints(*problems: Problem) -> list[str]:
        return [entry["fingerprint"] for entry in json.loads(gitlab_report(problems))]

    first = fingerprints(problem(), problem(line=9), problem(file="b.yml"), problem(setting=None))
    assert len(set(first)) == 4
    assert fingerprints(problem(line=7), problem(line=11)) == first[:2]


@pytest.mark.costly
@pytest.mark.parametrize(("text", "code", "level"), [(TOO_MANY, 3, "error"), (SHRINKS, 0, "notice")])
def test_an_error_is_what_exit_code_3_says(
    poolsize_here: Command, tmp_path: Path, text: str, code: int, level: str
) -> None:
    (tmp_path / "a.properties").write_text(text)
    done = poolsize_here("config", "--check", ".", "--format", "github")
    assert (done.returncode, done.stderr) == (code, "")
    assert re.fullmatch(rf"::{level} file=a\.properties,line=\d,title=poolsize \w+::[^\n]+\n", done.stdout)
    done = poolsize_here("config", "--check", ".", "--format", "gitlab")
    assert (done.returncode, len(json.loads(done.stdout))) == (code, 1)


@pytest.mark.costly
def test_without_a_problem_there_is_no_annotation(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("spring.datasource.hikari.maximum-pool-size=9\n")
    outputs = {form: poolsize_here("config", "--check", ".", "--format", form) for form in ("github", "gitlab")}
    assert {form: (done.returncode, done.stdout) for form, done in outputs.items()} == {
        "github": (0, ""), "gitlab": (0, "[]\n")
    }  # fmt: skip


@pytest.mark.costly
def test_format_json_is_json(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text(TOO_MANY)
    for words in (("--check", "."), ("--for", "go", "--size", "5"), ("--list",)):
        by_flag = poolsize_here("config", *words, "--json").stdout
        assert poolsize_here("config", *words, "--format", "json").stdout == by_flag


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--check", ".", "--json", "--format", "github"), "give either --json or --format github, not both"),
        (("--for", "go", "--size", "5", "--format", "gitlab"), "--format gitlab also needs --check FILE"),
    ],
)
def test_a_format_that_does_not_apply_is_refused(poolsize_here: Command, words: tuple[str, ...], error: str) -> None:
    done = poolsize_here("config", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert error in done.stderr


def test_the_hook_runs_for_the_kinds_of_files_that_are_read() -> None:
    names = [
        ".env.production",
        "Procfile",
        "Dockerfile",
        "web.dockerfile",
        "puma.rb",
        "proxysql-admin.sql",
        "a.yml",
        "a.yaml",
        "a.properties",
    ]
    names += [f"a{ending}" for ending in ENDINGS.keys() - BY_NAME_ONLY]
    others = ["a.kt", "a.gradle", "a.rb", "a.tpl", "a.sql", "Procfile.dev", "a.environment", "README.md"]
    for name in [*names, *others]:
        assert bool(re.search(HOOK["files"], f"src/{name}")) == (reader(name) is not None) == (name in names), name


def test_the_hook_checks_the_whole_repository(poolsize_here: Command, tmp_path: Path) -> None:
    assert not HOOK["pass_filenames"]
    (tmp_path / "a.properties").write_text(TOO_MANY)
    (tmp_path / "b.py").write_text("x = 1\n")
    program, *words = shlex.split(HOOK["entry"]) + HOOK["args"]
    assert program == "poolsize"
    assert poolsize_here(*words).returncode == 3


def test_no_input_of_the_action_is_part_of_a_script() -> None:
    steps = ACTION["runs"]["steps"]
    assert not any("${{" in step.get("run", "") for step in steps)
    inputs = {value for step in steps for value in step.get("env", {}).values() if "inputs." in value}
    assert inputs == {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]}


@pytest.mark.costly
@pytest.mark.parametrize(
    ("inputs", "code", "output"),
    [
        ({"paths": "with space\nb.properties\n"}, 0, ""),
        ({"paths": "with space\n", "instances": "20", "max-connections": "151"}, 3, "::error file=with space/a.pro"),
        ({"paths": "; touch x"}, 2, "; touch x can't be read"),
        ({"instances": "$(touch x)"}, 2, "--instances"),
    ],
)  # fmt: skip
def test_the_last_step_of_the_action(tmp_path: Path, inputs: dict[str, str], code: int, output: str) -> None:
    (tmp_path / "with space").mkdir()
    for name in ("with space/a.properties", "b.properties"):
        (tmp_path / name).write_text("spring.datasource.hikari.maximum-pool-size=9\n")
    program = tmp_path / "runner/poolsize/bin/poolsize"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m poolsize "$@"\n')
    program.chmod(0o755)
    step = ACTION["runs"]["steps"][-1]
    variables = {variable: re.sub(r"\W*inputs\.([\w-]+).*", r"\1", value) for variable, value in step["env"].items()}
    values = {name: inputs.get(name, each["default"]) for name, each in ACTION["inputs"].items()}
    environment = {variable: values[name] for variable, name in variables.items()}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT), **os.environ, **environment, "RUNNER_TEMP": str(tmp_path / "runner")},
    )  # fmt: skip
    assert (done.returncode, (tmp_path / "x").exists()) == (code, False), done.stderr
    assert output in done.stdout + done.stderr
    assert output or not done.stdout


@pytest.mark.costly
def test_the_page_names_the_action_the_hook_and_options_that_exist(poolsize_here: Command, tmp_path: Path) -> None:
    workflow, job, hooks = (
        yaml.safe_load(block.text) for block in blocks("docs/how-to/pipelines.md") if block.language == "yaml"
    )
    assert workflow["jobs"]["pools"]["steps"][-1]["with"].keys() == ACTION["inputs"].keys()
    (hook,) = hooks["repos"][0]["hooks"]
    assert hook["id"] == HOOK["id"]
    (tmp_path / "a.properties").write_text(TOO_MANY)
    of_job = shlex.split(job["pools"]["script"][-1])
    for program, *words in (of_job[: of_job.index(">")], shlex.split(HOOK["entry"]) + hook["args"]):
        assert program == "poolsize"
        assert poolsize_here(*words).returncode == 3
