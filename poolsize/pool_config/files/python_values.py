"""Python source -> the values of its expressions, where the file contains them."""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from poolsize.pool_config.files.python_names import Names, last_name, path
from poolsize.pool_config.files.values import ENVIRONMENT, NAME, integer_or_text, largest, setting_of
from poolsize.pool_config.pool import FilePool, Library, Value

Pairs = list[tuple[str | None, ast.expr]]
"""The keywords of a call, or the keys of a dictionary; None for the unknown ones of a spread dictionary."""

READS_ENVIRONMENT = {"get", "getenv", "getattr", "config", "setting", "int", "pop", "setdefault"}
"""Functions whose second argument is a default, besides those with "env" in their names; getattr has it third."""
DEFAULTS = {"default", "fallback"}
"""Names of the arguments, of such functions and of those in the file, that are a default."""
NAMES_OF_FIELDS = {"env", "validation_alias", "alias"}
"""Names of the arguments of pydantic's Field that name its variable."""
CONVERSIONS = {"int", "float", "bool", "str"}
SECONDS = {"weeks": 604_800, "days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1, "milliseconds": 0.001}
OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Mult: operator.mul, ast.Add: operator.add, ast.Sub: operator.sub, ast.FloorDiv: operator.floordiv,
}  # fmt: skip
DEEPEST = 20
"""Constants that name each other go no deeper."""
LARGEST = 10**15
"""Larger numbers are not settings of a pool."""
MOST_MAPPINGS = 50_000
"""Dictionaries that are read, each time that it is spread: more than a configuration has."""
UNKNOWN = "\0"
"""A part of a text that the file does not contain."""
LONGEST_TEXT = 2_000
SAME_TEXT = {"format", "replace", "strip", "render_as_string", "unicode_string", "lower"}
"""Methods whose result begins as the text does."""
SCHEME = re.compile(r"([A-Za-z][\w+.-]{0,60})://")


class Values:
    """The values of a source's expressions. spread: ids of the nodes that are part of another dictionary."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.spread: set[int] = set()
        self._open: list[ast.AST] = []
        self._mappings = 0
        self._values: dict[ast.expr, tuple[Value, tuple[str, ...]]] = {}
        """Node -> its value, and the variables that this depends on."""
        self._texts: dict[ast.expr, str] = {}

    def value(self, node: ast.expr, depth: int = 0) -> Value:
        """Return a value where the file contains it: a literal, a constant, arithmetic, a function's default.

        Of two values, as those of `a if c else b` or of a constant that is assigned twice: the larger number.
        """
        if depth > DEEPEST:
            return None
        if node not in self._values:
            self._values[node] = None, ()  # as long as it is not known: a constant may name itself
            value, variables = ENVIRONMENT.noted(partial(self._evaluated, node, depth + 1))
            fits = not isinstance(value, int | float) or abs(value) < LARGEST
            self._values[node] = value if fits else None, variables
        value, variables = self._values[node]
        ENVIRONMENT.note(variables)
        return value

    def variable(self, node: ast.expr) -> str | None:
        """Return the environment variable that a call, an item or a field of pydantic's settings is; None for none."""
        match node:
            case ast.Call(args=[ast.Constant(value=str() as name), *_]) if NAME.fullmatch(name):
                return name
            case ast.Call():
                words = [word.value for word in node.keywords if word.arg in NAMES_OF_FIELDS]
                named = [word.value for word in words if isinstance(word, ast.Constant)]
                return str(named[0]).upper() if named else self.names.variables.get(id(node))
            case ast.Subscript() if path(node.value).endswith("environ"):
                return last_name(node)
        return self.names.variables.get(id(node))

    def _evaluated(self, node: ast.expr, depth: int) -> Value:
        if id(node) in self.names.parameters:
            ENVIRONMENT.note([self.names.parameters[id(node)]])
        is_elsewhere = isinstance(node, ast.Attribute) and not self.definitions(node)
        key = self.names.imported(node) if is_elsewhere else ""
        text = ENVIRONMENT.configured(key) if key else ENVIRONMENT.text(self.variable(node))
        if text:
            return integer_or_text(text)
        value: Value = None
        match node:
            case ast.Constant(value=int() | float() | str() as literal):
                value = literal
            case ast.UnaryOp() | ast.BinOp():
                value = self._computed(node, depth)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                value = self._one_of(self.definitions(node), depth)
            case ast.IfExp():
                value = self._one_of([node.body, node.orelse], depth)
            case ast.BoolOp(op=ast.Or()):
                value = next((known for each in node.values if (known := self.value(each, depth))), None)
            case ast.Call():
                items = self.definitions(node)
                value = self._one_of(items, depth) if items else self._of_function(node, depth)
        return value

    def definitions(self, node: ast.expr) -> Sequence[ast.expr]:
        """Return what a name, an attribute, an item with a constant key, or get() of an item, is in the file.

        None only if nothing else is.
        """
        nodes = self.names.definitions(node)
        match node:
            case ast.Subscript() if not nodes:
                nodes = self._items_named(last_name(node), node.value)
            case ast.Call(func=ast.Attribute(value=mapping, attr="get"), args=[ast.Constant(value=key), *_]):
                nodes = self._items_named(key, mapping)
        return [each for each in nodes if not (isinstance(each, ast.Constant) and each.value is None)] or nodes

    def _items_named(self, name: object, mapping: ast.expr) -> Sequence[ast.expr]:
        spread, self.spread = self.spread, set()  # to read an item spreads no dictionary
        found = [value for key, value in self.pairs(mapping) if key is not None and key == name]
        self.spread = spread
        return found

    def _one_of(self, nodes: Iterable[ast.expr], depth: int) -> Value:
        """Return the value that all have; else the largest number; None where a value is not known."""
        values, given = ENVIRONMENT.alternatives(partial(self.value, node, depth) for node in nodes)
        if given is not None:
            return given
        return values[0] if len({(type(value), value) for value in values}) == 1 else largest(values)

    def _computed(self, node: ast.UnaryOp | ast.BinOp, depth: int) -> float | None:
        """Return the result of arithmetic, or None where an operand is not a known number."""
        if isinstance(node, ast.UnaryOp):
            value = self.value(node.operand, depth)
            return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else None
        left, right = self.value(node.left, depth), self.value(node.right, depth)
        if not (isinstance(left, int | float) and isinstance(right, int | float) and type(node.op) in OPERATORS):
            return None
        return None if isinstance(node.op, ast.FloorDiv) and not right else OPERATORS[type(node.op)](left, right)

    def _of_function(self, call: ast.Call, depth: int) -> Value:
        """Return the number of int("10"), min(5, 10) and timedelta(minutes=5), and a function's default."""
        name = last_name(call.func)
        if name == "timedelta" and not call.args:
            parts = [(SECONDS.get(word.arg or ""), self.value(word.value, depth)) for word in call.keywords]
            known = [unit * number for unit, number in parts if unit and isinstance(number, int | float)]
            return sum(known) if len(known) == len(parts) else None
        if name == "total_seconds" and isinstance(call.func, ast.Attribute):
            return self.value(call.func.value, depth)
        if name in {"max", "min"} and isinstance(call.func, ast.Name):
            values = [self.value(argument, depth) for argument in call.args]
            numbers = [value for value in values if isinstance(value, int | float)]
            return {"max": max, "min": min}[name](numbers) if numbers and len(numbers) == len(values) else None
        chosen = self.default(call)
        value = None if chosen is None else self.value(chosen, depth)
        return integer_or_text(value) if isinstance(value, str) else value

    def default(self, call: ast.Call) -> ast.expr | None:
        """Return the argument of a call that is its result where the environment gives no other."""
        name, of_name = last_name(call.func), isinstance(call.func, ast.Name)
        for word in call.keywords:
            if word.arg in DEFAULTS:
                return word.value
            if word.arg == "default_factory" and isinstance(word.value, ast.Lambda):
                return word.value.body
        if (of_name and name in CONVERSIONS) or name.lower() == "field":
            return call.args[0] if call.args else None
        place = 2 if name == "getattr" else 1
        if len(call.args) > place and (name.lower() in READS_ENVIRONMENT or "env" in path(call.func).lower()):
            return call.args[place]
        function = self.names.functions.get(name)
        named = [argument.arg for argument in function.args.args] if function else []
        named = named[1:] if named[:1] in (["self"], ["cls"]) else named
        return next((value for argument, value in zip(named, call.args, strict=False) if argument in DEFAULTS), None)

    def keywords(self, call: ast.Call) -> Pairs:
        """Return the keywords of a call, with those of spread dictionaries."""
        return [
            pair
            for word in call.keywords
            for pair in (self.pairs(word.value) if word.arg is None else [(word.arg, word.value)])
        ]

    def pairs(self, node: ast.expr) -> Pairs:
        """Return the pairs of a dictionary: a literal, dict(...), a | b, a constant's, or a function's of the file.

        Items that the file assigns to it later are part of it.
        """
        self._mappings += 1
        is_open = node in self._open  # as in: options = {**options, "pool_size": 5}
        if is_open or len(self._open) > DEEPEST or self._mappings > MOST_MAPPINGS:
            return [(None, node)]
        self._open.append(node)
        self.spread.add(id(node))  # it is part of another dictionary, and no pool of its own
        found = self._of_mapping(node)
        self._open.pop()
        return found

    def _of_mapping(self, node: ast.expr) -> Pairs:
        found: Pairs | None = None
        match node:
            case ast.Dict():
                found = self.of_dict(node)
            case ast.BinOp(op=ast.BitOr()):
                found = self.pairs(node.left) + self.pairs(node.right)
            case ast.Name() | ast.Attribute():
                definitions = self.names.definitions(node)
                found = self.pairs(definitions[-1]) if definitions else None
            case ast.Subscript():
                inner = [value for name, value in self.pairs(node.value) if name == last_name(node) != ""]
                found = self.pairs(inner[-1]) if inner else None
            case ast.Call():
                found = self._of_mapping_call(node)
        return ([(None, node)] if found is None else found) + self.items(node)

    def _of_mapping_call(self, call: ast.Call) -> Pairs | None:
        name = last_name(call.func)
        if name == "copy" and isinstance(call.func, ast.Attribute):
            return self.pairs(call.func.value)
        if name == "dict":
            return [pair for argument in call.args for pair in self.pairs(argument)] + self.keywords(call)
        if (settings := self.of_database_url(call)) is not None:
            return settings
        returned = self.names.returned.get(name)
        return None if returned is None else self.pairs(returned)

    def of_database_url(self, call: ast.Call) -> Pairs | None:
        """Return the settings of dj_database_url.config() or env.db(), which make a dictionary; else None."""
        name = self.names.full_name(call.func)
        of, _, last = name.lower().rpartition(".")
        if name in {"dj_database_url.config", "dj_database_url.parse"} or (last in {"db", "db_url"} and "env" in of):
            return [("ENGINE", call), *self.keywords(call)]
        return None

    def of_dict(self, node: ast.Dict) -> Pairs:
        """Return the pairs of a literal."""
        found: Pairs = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                found += self.pairs(value)
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                found.append((key.value, value))
        return found

    def items(self, node: ast.expr) -> Pairs:
        """Return what the file assigns to the items of a dictionary after the literal, as d["a"] = 5 or d.update()."""
        found: Pairs = []
        for change in self.names.changes_of(node):
            if isinstance(change, ast.Call):
                found += [pair for argument in change.args for pair in self.pairs(argument)] + self.keywords(change)
            else:
                found += [change] if change[0] else self.pairs(change[1])
        return found

    def text(self, node: ast.expr, depth: int = 0) -> str:
        """Return a text, with UNKNOWN in place of each part that the file does not contain."""
        if depth > DEEPEST:
            return UNKNOWN
        if node not in self._texts:
            self._texts[node] = UNKNOWN
            self._texts[node] = self._text(node, depth + 1)[:LONGEST_TEXT]
        return self._texts[node]

    def _text(self, node: ast.expr, depth: int) -> str:
        text = UNKNOWN
        match node:
            case ast.Constant(value=str() as literal):
                text = literal
            case ast.JoinedStr():
                text = "".join(self.text(part, depth) for part in node.values)
            case ast.FormattedValue():
                text = self.text(node.value, depth)
            case ast.BinOp(op=ast.Add()):
                text = self.text(node.left, depth) + self.text(node.right, depth)
            case ast.BinOp(op=ast.Mod()):
                text = self.text(node.left, depth).replace("%s", UNKNOWN)
            case ast.BoolOp():
                text = self._best([self.text(part, depth) for part in node.values])
            case ast.IfExp():
                text = self._best([self.text(part, depth) for part in (node.body, node.orelse)])
            case ast.Name() | ast.Attribute() | ast.Subscript():
                text = self._best([self.text(each, depth) for each in self.definitions(node)])
            case ast.Call():
                items = self.definitions(node)
                text = (
                    self._best([self.text(each, depth) for each in items]) if items else self._text_of_call(node, depth)
                )
        return text

    def _text_of_call(self, call: ast.Call, depth: int) -> str:
        name = last_name(call.func)
        if name in SAME_TEXT and isinstance(call.func, ast.Attribute):
            return self.text(call.func.value, depth)
        if name == "URL" or path(call.func).endswith("URL.create"):
            drivers = [*call.args, *(word.value for word in call.keywords if word.arg == "drivername")]
            return self.text(drivers[0], depth) + "://" if drivers else UNKNOWN
        if (returned := self.names.returned.get(name)) is not None:
            return self.text(returned, depth)
        if (default := self.default(call)) is not None:
            return self.text(default, depth)
        known = len(call.args) == 1 and "env" not in path(call.func).lower()
        return self.text(call.args[0], depth) if known else UNKNOWN

    def is_mysql(self, url: ast.expr | None) -> bool | None:
        """Return whether a URL is of MySQL or MariaDB; None where the file does not contain its scheme."""
        match = None if url is None else SCHEME.match(self.text(url))
        return match and match[1].lower().startswith(("mysql", "mariadb"))

    def _best(self, texts: Sequence[str]) -> str:
        """Return the text that shows MySQL, else one that may be of any database, else the first known one."""
        known = [text for text in texts if text.strip(UNKNOWN)]
        shown = [text for text in known if "mysql" in text or "mariadb" in text]
        unclear = [text for text in known if UNKNOWN in text.partition("://")[0]]
        return next(iter([*shown, *unclear, *known]), UNKNOWN)

    def pools(
        self, library: Library, place: str, pairs: Pairs, *, always: bool = True, renamed: Mapping[str, str] = {}
    ) -> Iterable[FilePool]:
        """Yield the pool of some settings; without a setting of the library only if it is always one.

        renamed: name in the file -> the library's.
        """
        settings, unread = {}, []
        for name, node in pairs:
            if name is None:
                continue
            found = setting_of(name, ast.unparse(node), node.lineno, partial(self.value, node))
            if setting := library.setting(renamed.get(name, name)):
                settings[setting] = found
            elif library.setting(name, relaxed=True):
                unread.append(found)
        if settings or unread or always:
            yield FilePool(library, place, settings, tuple(unread), complete=None not in dict(pairs))
