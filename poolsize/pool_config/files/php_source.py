"""PHP source, by the tokens of Pygments -> persistent connections to MySQL, and the pools of Hyperf and Swoole."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from pygments.lexers.php import PhpLexer
from pygments.token import Comment, String, Text

from poolsize.pool_config.files.keys import own_name
from poolsize.pool_config.files.places import NO_DATABASE
from poolsize.pool_config.files.values import ENVIRONMENT, NAME, names_mysql, setting_of, value_of
from poolsize.pool_config.libraries.other_languages import HYPERF, LARAVEL, OWN_SIZE, PHP, SWOOLE
from poolsize.pool_config.pool import FilePool, FileSetting, Library, Value

RELEVANT = re.compile(
    r"ATTR_PERSISTENT|mysql_pconnect|PDOPool|MysqliPool|['\"](?:p[Cc]onnect|persistent|pool)['\"]|['\"]p:|['\"]driver['\"]\s{0,40}=>\s{0,9}['\"](?:pdo_)?mysqli?['\"]"
    r"|['\"](?i:pool_?(?:max|size)|max_?(?:conn|object_?num)|connection_?limit)"
)
"""Only a file with such a text may have pools; the lexer is slow."""
DRIVER_KEYS = ("driver", "DBDriver", "dbdriver", "type", "dsn")
LITERALS = re.compile(r"(?i:true|false)|-?\d{1,9}(?:\.\d{1,6})?")
LONGEST_CALL = 300
OF_LARAVEL = re.compile(r"\bIlluminate\\Support\b|\bdatabase_path\(")
"""What the configuration of Laravel has; that of webman, which has Laravel's database layer, has no such name."""
SWOOLE_POOLS = ("PDOPool", "MysqliPool")
NO_MYSQL = NO_DATABASE | {"amqp", "mail", "mq", "smtp"}
"""In the keys around an array that configures another service."""
OPENING, CLOSING = {"[", "(", "array("}, {"]", ")"}


@dataclass
class Array:
    """An array or the arguments of a call. key: of the array around it, whose value it is. values: with their lines."""

    key: str
    around: "Array | None"
    values: dict[str, tuple[list[str], int]] = field(default_factory=dict)
    pending: str = ""

    def text(self, name: str) -> str:
        """Return a value as the file writes it; "" for none."""
        return "".join(self.values[name][0]) if name in self.values else ""

    @property
    def driver(self) -> str:
        """The driver of the connection that the array configures or is an option of; "" where it has none."""
        for name in DRIVER_KEYS:
            if driver := self.text(name).strip("'\"").lower():
                return driver
        return self.around.driver if self.around and self.key in {"options", "attributes", "params", "pool"} else ""


def php_pools(text: str) -> list[FilePool]:
    """Return a pool for each connection to MySQL, persistent or not, and the pools of Hyperf and Swoole."""
    if not RELEVANT.search(text) or not ("mysql" in text.lower() or "PDOPool" in text):
        return []
    tokens = list(_tokens(text))
    arrays, pools = _arrays(tokens), []
    for array in arrays:
        is_mysql = names_mysql(array.driver)
        if array.driver and not is_mysql:
            continue
        is_group = array.key == "pool"
        if array.values and (is_mysql or _is_of_server(array.around if is_group else array, text)):
            library = HYPERF if is_group and _settings(HYPERF, array) else OWN_SIZE
            settings = _settings(library, array)
            if (is_mysql and library is HYPERF) or any(size in settings for size in library.sizes):
                is_of_laravel = library is HYPERF and OF_LARAVEL.search(text)
                pools.append(FilePool(LARAVEL if is_of_laravel else library, _place(array), settings))
        settings = _settings(PHP, array)
        if settings and (is_mysql or "persistent" not in settings):  # a word with other meanings, too
            pools.append(FilePool(PHP, _place(array), settings))
    pools += [
        FilePool(PHP, f"line {line}", {name: FileSetting(name, str(value).lower(), value, line)})
        for name, value, line in _calls(tokens)
    ]
    pools += _swoole_pools(tokens) if "Swoole" in text else ()
    connections = (each for each in arrays if names_mysql(each.driver) and each.values.keys() >= {"driver", "host"})
    return pools or [FilePool(PHP, _place(array), {}) for array in connections]


def _is_of_server(array: Array | None, text: str) -> bool:
    """Return whether an array without a driver has the address of a server and its user, in a file of MySQL."""
    if array is None or not array.values.keys() & {"user", "username"} or "host" not in array.values:
        return False
    if (is_mysql := names_mysql(array.key)) is not None:
        return is_mysql
    if "port" in array.values:
        tokens, _ = array.values["port"]
        return names_mysql(f":{_value(tokens)} {array.text('port')}") is True
    keys = " ".join(_keys(array)).lower()
    return bool(names_mysql(text)) and not any(word in keys for word in NO_MYSQL)


def _keys(array: Array | None) -> Iterator[str]:
    while array:
        yield array.key
        array = array.around


def _place(array: Array) -> str:
    outer = array.around if array.key in {"options", "attributes", "params", "pool"} and array.around else array
    line = min(line for _, line in array.values.values())
    return f"{outer.key}, line {line}" if outer.key else f"line {line}"


def _calls(tokens: list[tuple[str, int]]) -> Iterator[tuple[str, Value, int]]:
    """Yield what calls make persistent: of setAttribute(PDO::ATTR_PERSISTENT, true), mysqli and mysql_pconnect."""
    for place, (word, line) in enumerate(tokens[:-2]):
        if word == "ATTR_PERSISTENT" and tokens[place + 1][0] == ",":
            yield word, _value([tokens[place + 2][0]]), line
        elif word == "mysql_pconnect" and tokens[place + 1][0] == "(" and tokens[place - 1][0] != "function":
            yield word, True, line
        elif word.strip("'\"").startswith("p:") and any(
            "mysqli" in each for each, _ in tokens[max(0, place - 9) : place]
        ):
            yield "p:", True, line


def _swoole_pools(tokens: list[tuple[str, int]]) -> Iterator[FilePool]:
    """Yield the pools of new PDOPool($config, 64). Their database is MySQL, unless the configuration has a driver."""
    words = [word for word, _ in tokens]
    triples = list(zip(words, words[1:], words[2:], strict=False))
    is_other = any(names_mysql(driver) is False for name, _, driver in triples if name == "withDriver")
    pools = {*SWOOLE_POOLS, *(alias for name, sign, alias in triples if sign == "as" and name.endswith(SWOOLE_POOLS))}
    for place, (sign, name, bracket) in enumerate(triples, 1):
        if sign == "new" and bracket == "(" and name.rpartition("\\")[2] in pools:
            if is_other and "Mysqli" not in name:
                continue
            size = _second_argument(words[place + 1 : place + LONGEST_CALL])
            line = tokens[place][1]
            settings = {"size": setting_of("size", "".join(size), line, partial(_value, size))} if size else {}
            yield FilePool(SWOOLE, f"{name}, line {line}", settings)


def _second_argument(words: list[str]) -> list[str]:
    """Return the words of the second argument of a call, from its opening bracket on."""
    depth, arguments = 0, list[list[str]]([[]])
    for word in words:
        depth += (word in OPENING) - (word in CLOSING)
        if not depth:
            break
        if depth == 1 and word == ",":
            arguments.append([])
        else:
            arguments[-1].append(word)
    return arguments[1] if len(arguments) > 1 else []


def _settings(library: Library, array: Array) -> dict[str, FileSetting]:
    own = library is OWN_SIZE
    read = own_name if own and array.key == "pool" else str
    return {
        setting: setting_of(name, "".join(tokens), line, partial(_value, tokens))
        for name, (tokens, line) in array.values.items()
        if (setting := library.setting(read(name), relaxed=own) or library.aliases.get(name))
    }


def _value(tokens: list[str]) -> Value:
    """Return a literal, also after a cast; of env('NAME', default), the variable's or the default; else None."""
    if tokens[:1] == ["("] and tokens[2:3] == [")"]:  # a cast, as in (int) env('NAME', 5)
        tokens = tokens[3:]
    words = [word.strip("'\"") for word in tokens if word != "("]
    last = next((word for word in reversed(words) if word not in CLOSING), "")
    first = next(iter(words), "")
    is_known = len(words) == 1 or first in {"env", "getenv", "-"} or "?:" in words or "??" in words
    names = (word for word in words if NAME.fullmatch(word) and not LITERALS.fullmatch(word))
    given = ENVIRONMENT.text(next(names, None))
    if given is not None:
        return value_of(given)
    if not is_known or not LITERALS.fullmatch(last):
        return None
    return value_of(f"-{last}" if first == "-" else last)


def _arrays(tokens: list[tuple[str, int]]) -> list[Array]:
    around = [Array("", None)]
    arrays = list(around)
    before = ""
    for word, line in tokens:
        top = around[-1]
        if word == "=>":
            top.pending = before.strip("'\"")
            top.values[top.pending] = ([], line)
        elif word == ",":
            if not top.pending:
                _note(around, word)
            top.pending = ""
        else:
            if word in CLOSING and len(around) > 1:
                around.pop()
            _note(around, word)
            if word in OPENING:
                around.append(Array(top.pending, top))
                arrays.append(around[-1])
        before = word
    return arrays


def _note(around: list[Array], token: str) -> None:
    """Add a token to the value that it is a part of, unless the value is too long for a setting."""
    array = next((each for each in reversed(around[-4:]) if each.pending), None)
    if array and len(array.values[array.pending][0]) < 20:
        array.values[array.pending][0].append(token)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yield the tokens without white space and comments, each with its line. A string is one token."""
    line, string = 1, ""
    for kind, part in PhpLexer().get_tokens(text):
        if kind in String:
            string += part
        elif string:
            yield string, line
            string = ""
        if kind not in String and kind not in Comment and kind not in Text and part.strip():
            for word in re.findall(r"[()\[\],]|[^()\[\],\s]+", part):
                yield word, line
        line += part.count("\n")
