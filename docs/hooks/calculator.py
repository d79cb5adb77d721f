"""Adds the page of `poolsize calculator` to the documentation."""

from typing import Any

from mkdocs.structure.files import File, Files

from poolsize.calculator.page import calculator_html


def on_files(files: Files, config: Any) -> Files:
    """Return the documentation's files with the calculator's page."""
    files.append(File.generated(config, "calculator.html", content=calculator_html()))
    return files
