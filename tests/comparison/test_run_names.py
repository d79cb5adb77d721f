"""Short names of files."""

from poolsize.comparison.text import run_names


def test_names_are_as_short_as_tells_them_apart() -> None:
    assert run_names(["a/scan.jsonl", "b/insert.jsonl"]) == ["scan", "insert"]
    assert run_names(["/x/before/run.jsonl", "/x/after/run.jsonl"]) == ["before/run", "after/run"]
    assert run_names(["run.jsonl", "after/run.jsonl"]) == ["run", "after/run"]
    assert run_names(["a.jsonl", "b.jsonl"]) == ["a", "b"]
