"""The reference page of a sweep's options, docs/options.md, made from their declaration.

To write the page: python -m poolsize.present.text.options_table > docs/options.md
"""

from poolsize.sweep.options import OPTIONS, Option

HEADINGS = ("Option", "Meaning", "Default", "`locust -f`", "`--replay`", "`--resume`", "Python")
INTRODUCTION = """\
# Options of a sweep

The options of `poolsize sweep`, from their declaration in `poolsize/sweep/options.py`. The columns say which options
`locust -f` takes (or has by itself), which mean something to a replay of a recording, which may be typed again when
a run is resumed, and the field of `SweepOptions` that holds the value. After a change:

    python -m poolsize.present.text.options_table > docs/options.md
"""


def options_page() -> str:
    """Return the page as Markdown: an introduction and a table with a row for each option."""
    rows = [_row(HEADINGS), _row(("---",) * len(HEADINGS))]
    rows += [_row(_cells(name, option)) for name, option in OPTIONS.items()]
    return "\n".join([INTRODUCTION, *rows, ""])


def _cells(name: str, option: Option) -> tuple[str, ...]:
    meaning = f"{option.text} Also read from `{option.variable}`." if option.variable else option.text
    meaning += " May be repeated." if option.repeatable else ""
    return (
        f"`{option.flag}`",
        meaning,
        option.default,
        "Locust's own" if option.locusts_own else _yes(option.in_locust),
        _yes(option.replayed),
        _yes(not option.settled),
        f"`{name}`",
    )


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(options_page(), end="")
