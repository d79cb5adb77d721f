"""The page docs/reference/options.md: every option of a sweep, from its declaration."""

from poolsize.present.reference.markdown import GENERATED, table
from poolsize.sweep.option import Group, Option
from poolsize.sweep.options import OPTIONS

HEADINGS = ("Option", "Meaning", "Default", "`locust -f`", "`--replay`", "`--resume`", "Python")
INTRODUCTION = """
# Options of a sweep

The options of `poolsize sweep`. The columns say

- whether `locust -f` accepts the option, or has an option of that name by itself;
- whether the option applies to a replay of a recording (`--replay`);
- whether you can give it again with `--resume`; all other options keep the values of the run;
- the field of `SweepOptions` that holds the value in Python.

A duration is a number with a unit: `550ms`, `15s` or `2m`. `--think-time`, `--max-p95` and `--max-p99` require
the unit; elsewhere a number alone is in seconds. A share is a percentage, `2%`, or a fraction, `0.02`.
"""


def options_page() -> str:
    """Return the page as Markdown: an introduction, and for each group a table with a row for each option."""
    return GENERATED.format(source="poolsize/sweep/options.py") + INTRODUCTION + "".join(map(_section, Group))


def _section(group: Group) -> str:
    rows = (_cells(name, option) for name, option in OPTIONS.items() if option.group is group)
    return f"\n## {group.value}\n\n{table(HEADINGS, rows)}"


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
