"""A griffe extension: the docstring of a record or a function explains its fields or parameters as a list.

A docstring says "name: meaning. other, third: meaning. Raises ..." in paragraphs; a page shows an item for each.
"""

import re
from typing import Any

from griffe import Class, Extension, Function, Object


class DocstringLists(Extension):
    """Rewrites the docstrings of records and functions as Markdown."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if isinstance(obj, Class):
            names = [name for name, member in obj.members.items() if member.is_attribute]
        elif isinstance(obj, Function):
            names = [parameter.name for parameter in obj.parameters]
        else:
            return
        if obj.docstring and names:
            obj.docstring.value = as_list(obj.docstring.value, names)


def as_list(docstring: str, names: list[str]) -> str:
    """Return a docstring with an item for each explanation of names, and a paragraph for each `Raises`."""
    name = "|".join(map(re.escape, names))
    paragraphs = []
    for paragraph in docstring.split("\n\n"):
        text = " ".join(paragraph.split())
        text = re.sub(rf"(?:^|(?<=\. ))((?:{name})(?:, (?:{name}))*): ", r"\n- **\1**: ", text)
        paragraphs.append(re.sub(r"(?:^|(?<=\. ))Raises ", "\n\nRaises ", text).strip())
    return "\n\n".join(paragraphs)
