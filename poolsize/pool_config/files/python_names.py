"""Python source -> what its names are: constants, parameters, classes, functions, and changes of dictionaries."""

import ast
from collections.abc import Iterator, Sequence

Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Change = tuple[str | None, ast.expr] | ast.Call
"""An item that is assigned to a dictionary, with None another that is joined to it, or a call of its update()."""

CHANGES = {"update", "from_mapping"}
DEEPEST = 20
MOST_DEFINITIONS = 50
"""A name with more values in a file is no setting."""


class Names:
    """The names of a source.

    nodes: all, in the order of their lines. functions, classes: by name. returned: function -> the expression that it
    returns last. imports: name -> full name.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._tree, self._depth = tree, 0
        self.nodes: list[ast.AST] = []
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.returned: dict[str, ast.expr] = {}
        self.imports: dict[str, str] = {}
        self._scopes: dict[int, Scope] = {}
        self._outer: dict[int, Scope] = {}
        self._assigned: dict[tuple[int, str], list[ast.expr]] = {}
        self._attributes: dict[str, list[ast.expr]] = {}
        self._of_classes: dict[str, list[ast.expr]] = {}
        self._paths: dict[int, tuple[int, str]] = {}
        self._changes: dict[tuple[int, str], list[Change]] = {}
        self._classes_of: dict[int, ast.ClassDef | None] = {}
        self._prefixes: dict[int, str] = {}
        """Class of pydantic's settings -> the beginning of its variables' names."""
        self.variables: dict[int, str] = {}
        """Default of a field of such a class -> the name of its variable."""
        self.parameters: dict[int, str] = {}
        """Default of a parameter -> FUNCTION(PARAMETER)."""
        self._blocks: dict[int, tuple[int, str]] = {}
        """Node -> the statement whose block it is in, and the block's name, as "orelse"."""
        pending: list[tuple[ast.AST, Scope, tuple[int, str]]] = [(tree, tree, (0, ""))]
        while pending:
            node, scope, block = pending.pop()
            inner = node if isinstance(node, Scope) else scope
            if inner is node and node is not tree:
                self._outer[id(node)] = scope
            self._scopes[id(node)], self._blocks[id(node)] = inner, block
            self.nodes.append(node)
            self._note(node, scope)
            pending += [(child, inner, of or block) for child, of in reversed(list(_children(node)))]
        self.nodes.sort(key=lambda node: getattr(node, "lineno", 0))

    def _note(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if node.value is not None:
                        self._note_target(target, node.value, scope)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.functions[node.name] = node
                self._note_parameters(node, scope)
            case ast.ClassDef():
                self._note_class(node)
            case ast.Return(value=ast.expr() as value) if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
                self.returned[scope.name] = value
            case ast.Import():
                self.imports |= {each.asname: each.name for each in node.names if each.asname}
            case ast.ImportFrom():
                self.imports |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
            case ast.AugAssign(target=changed, op=ast.BitOr()) | ast.Call(func=ast.Attribute(value=changed)):
                self._note_change(node, changed, scope)

    def _note_class(self, node: ast.ClassDef) -> None:
        self.classes[node.name] = node
        if any(last_name(base) == "BaseSettings" for base in node.bases):
            self._prefixes[id(node)] = _env_prefix(node)

    def _note_parameters(self, function: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        """Note the default values of parameters; those without a default are known to be unknown."""
        of = function.args
        called = scope.name if isinstance(scope, ast.ClassDef) and function.name == "__init__" else function.name
        positional = [*of.posonlyargs, *of.args]
        defaults = [None] * (len(positional) - len(of.defaults)) + of.defaults
        for parameter, default in [
            *zip(positional, defaults, strict=True),
            *zip(of.kwonlyargs, of.kw_defaults, strict=True),
        ]:
            self._assigned[id(function), parameter.arg] = [default] if default else []
            if default:
                self.parameters[id(default)] = f"{called}({parameter.arg})"
        for other in (of.vararg, of.kwarg):
            if other:
                self._assigned[id(function), other.arg] = []

    def _note_target(self, target: ast.expr, value: ast.expr, scope: Scope) -> None:
        self._note_path(value, path(target), scope)
        if isinstance(target, ast.Name):
            self._assigned.setdefault((id(scope), target.id), []).append(value)
            if isinstance(scope, ast.ClassDef):
                self._of_classes.setdefault(target.id, []).append(value)
            if id(scope) in self._prefixes:
                self.variables[id(value)] = (self._prefixes[id(scope)] + target.id).upper()
        elif isinstance(target, ast.Attribute):
            self._attributes.setdefault(target.attr, []).append(value)
        elif isinstance(target, ast.Subscript) and (name := last_name(target)):
            self._changes.setdefault((id(scope), path(target.value)), []).append((name, value))

    def _note_path(self, value: ast.expr, where: str, scope: Scope, depth: int = 0) -> None:
        """Note where a dictionary is assigned to, and the dictionaries in it."""
        if where and depth < 3:
            self._paths[id(value)] = (id(scope), where)
            for key, inner in zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ():
                if isinstance(key, ast.Constant):
                    self._note_path(inner, f"{where}[{key.value!r}]", scope, depth + 1)

    def _note_change(self, change: ast.AugAssign | ast.Call, changed: ast.expr, scope: Scope) -> None:
        changes = self._changes.setdefault((id(scope), path(changed)), [])
        match change:
            case ast.AugAssign():
                changes.append((None, change.value))
            case ast.Call(func=ast.Attribute(attr=name)) if name in CHANGES:
                changes.append(change)
            case ast.Call(func=ast.Attribute(attr="setdefault"), args=[ast.Constant(value=key), value]):
                changes.append((str(key), value))

    def changes_of(self, node: ast.AST) -> Sequence[Change]:
        """Return what is assigned to the items of a dictionary, in the function or module that assigns it to a name."""
        return self._changes.get(self._paths.get(id(node), (0, "")), ())

    def changes_elsewhere(self) -> Iterator[tuple[str, ast.expr]]:
        """Yield the items that are assigned to dictionaries of other files."""
        of_file = set(self._paths.values())
        for where, changes in self._changes.items():
            if where not in of_file:
                yield from ((item[0], item[1]) for item in changes if isinstance(item, tuple) and item[0] is not None)

    def of_module(self, name: str) -> ast.expr | None:
        """Return what a constant of the module is, or None."""
        return next(iter(self._assigned.get((id(self._tree), name), ())), None)

    def scope(self, node: ast.AST) -> Scope | None:
        """Return the function, class or module that a node is in."""
        return self._scopes.get(id(node))

    def definitions(self, node: ast.expr) -> Sequence[ast.expr]:
        """Return the expressions that a name or an attribute is in the file; none where it comes from elsewhere."""
        found = self._of_attribute(node) if isinstance(node, ast.Attribute) else self._of_name(node)
        return found if len(found) <= MOST_DEFINITIONS else ()

    def _of_name(self, node: ast.expr) -> Sequence[ast.expr]:
        scope = self._scopes.get(id(node))
        while scope is not None and isinstance(node, ast.Name):
            if (id(scope), node.id) in self._assigned:
                return self._latest(node, self._assigned[id(scope), node.id])
            scope = self._outer.get(id(scope))
        return ()

    def _latest(self, node: ast.Name, values: Sequence[ast.expr]) -> Sequence[ast.expr]:
        """Return the value that a block assigns to a name before a use in the same block; else all values."""
        before = sorted((each for each in values if each.lineno < node.lineno), key=lambda each: each.lineno)
        is_same = bool(before) and self._blocks.get(id(before[-1])) == self._blocks.get(id(node))
        return before[-1:] if is_same else values

    def _of_attribute(self, node: ast.Attribute) -> Sequence[ast.expr]:
        """Return the values of an attribute: of the object's class; else of all classes that have it."""
        if owner := self._class_of(node.value):
            for each in self.with_bases(owner):
                if found := self._assigned.get((id(each), node.attr)):
                    return found
        if found := self._attributes.get(node.attr):
            return found
        if not owner and (returned := self.returned.get(node.attr)) is not None and node.attr in self.functions:
            return [returned]  # a property
        return self._of_classes.get(node.attr, ())

    def _class_of(self, node: ast.expr) -> ast.ClassDef | None:
        """Return the class of an object, or the class itself; None if it is not in the file."""
        if id(node) not in self._classes_of:
            self._classes_of[id(node)] = None  # as long as it is not known: names may be each other
            self._depth += 1
            self._classes_of[id(node)] = self._found_class(node) if self._depth < DEEPEST else None
            self._depth -= 1
        return self._classes_of[id(node)]

    def _found_class(self, node: ast.expr) -> ast.ClassDef | None:
        if isinstance(node, ast.Name) and node.id in {"self", "cls"}:
            scope = self._scopes.get(id(node))
            while scope is not None and not isinstance(scope, ast.ClassDef):
                scope = self._outer.get(id(scope))
            return scope
        name = last_name(node.func if isinstance(node, ast.Call) else node)
        if name in self.classes:
            return self.classes[name]
        following = self.definitions(node) if isinstance(node, ast.Name | ast.Attribute) else ()
        if isinstance(node, ast.Call) and name in self.returned:
            following = [self.returned[name]]
        return self._class_of(following[-1]) if following else None

    def with_bases(self, owner: ast.ClassDef) -> Iterator[ast.ClassDef]:
        """Yield a class and its base classes in the file, the class first."""
        pending, known = [owner], set[int]()
        while pending:
            each = pending.pop(0)
            if id(each) not in known:
                known.add(id(each))
                yield each
                pending += [self.classes[last_name(base)] for base in each.bases if last_name(base) in self.classes]

    def of_settings(self) -> Iterator[tuple[str, ast.expr]]:
        """Yield the fields of the module's objects of pydantic's settings: OBJECT.FIELD, and the field's default."""
        objects = [(name, self._class_of(nodes[-1])) for name, nodes in self._assigned_in(self._tree) if nodes]
        for name, owner in objects:
            classes = list(self.with_bases(owner)) if owner else []
            if any(id(each) in self._prefixes for each in classes):
                fields = {field: nodes[-1] for each in reversed(classes) for field, nodes in self._assigned_in(each)}
                yield from ((f"{name}.{field}", node) for field, node in fields.items())

    def _assigned_in(self, scope: Scope) -> list[tuple[str, list[ast.expr]]]:
        return [(name, nodes) for (of, name), nodes in self._assigned.items() if of == id(scope)]

    def imported(self, node: ast.expr) -> str:
        """Return MODULE.OBJECT.FIELD of an attribute of an object that another module has; "" for anything else."""
        is_imported = path(node).partition(".")[0] in self.imports
        return ".".join(self.full_name(node).split(".")[-3:]) if is_imported else ""

    def full_name(self, node: ast.expr) -> str:
        """Return the dotted name of a function with the module that it is imported from."""
        first, dot, rest = path(node).partition(".")
        return self.imports.get(first, first) + dot + rest


def _env_prefix(settings: ast.ClassDef) -> str:
    for node in ast.walk(settings):
        names = [node.arg or ""] if isinstance(node, ast.keyword) else []
        names = [last_name(target) for target in node.targets] if isinstance(node, ast.Assign) else names
        if "env_prefix" in names and isinstance(node, ast.keyword | ast.Assign):
            return str(node.value.value) if isinstance(node.value, ast.Constant) else ""
    return ""


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, tuple[int, str] | None]]:
    """Yield the parts of a node, each with the block that it is a statement of; None for parts of expressions.

    A third of all nodes only say that a name is read or assigned to: they are left out.
    """
    for name, part in ast.iter_fields(node):
        for child in part if isinstance(part, list) else [part]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.expr_context):
                yield child, (id(node), name) if isinstance(child, ast.stmt) else None


def last_name(node: ast.AST | None) -> str:
    """Return the last part of a dotted name, the key of an item with a constant key, or "" for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.id if isinstance(node, ast.Name) else ""


def path(node: ast.AST) -> str:
    """Return a dotted name with constant keys, as app.config['db']; "" for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript) and len(parts) < DEEPEST:
        if isinstance(node, ast.Attribute):
            parts.append(f".{node.attr}")
        elif isinstance(node.slice, ast.Constant):
            parts.append(f"[{node.slice.value!r}]")
        else:
            return ""
        node = node.value
    return node.id + "".join(reversed(parts)) if isinstance(node, ast.Name) else ""
