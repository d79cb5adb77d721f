"""The corpus of hostile files: written when needed, each with the commands that read it.

A file of each kind asks for more time, memory or trust than it should. tests.hostile runs the commands.
"""

import base64
import gzip
import json
import os
import socket
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

ONE_E400 = "1e400"
"""JSON has no limit to its numbers; json.dumps can't write this one, so `written` puts it in."""
JsonPath = tuple[str | int, ...]
"""Names and indices that lead to a value of JSON."""

EXAMPLES = ROOT / "data" / "examples"
LOAD_TOOLS = ROOT / "tests" / "data" / "load_tools"
OF_TOOL = {".json": ".summary", ".csv": ".table", ".jtl": ".jtl", ".log": ".log", ".txt": ".log"}
"""Ending of a load tool's file -> the ending that names the command which reads it."""
POOL_FILES = ROOT / "tests" / "data" / "pool_files"
READS_RUN = ("analyze {}", "recommend --run {}", "predict {} --cores 8")
READS_RUN_TOO = (
    "report {} --output page.html",
    f"compare {EXAMPLES / 'insert-mysql.jsonl'} {{}}",
    "config --for hikaricp --run {}",
    "fleet --run {}",
)
RESUMES = ("sweep --resume {}", "notebook {}")
CHECK, REPLAY, IMPORT = "config --check {}", "sweep --replay {} --output {}.jsonl", "import {} --output {}.csv"
CHECK_JSON = "config --check {} --json"
APPLICATION, SERVICES = "application check {}", "fleet --services {} --size 20"
WORKLOADS = ("sweep --workload {}", "sweep --application {}")
AUTHORITY = "recommend --url mysql://u:p@127.0.0.1:1/ --ssl-ca {}"
DATA_READERS = (*READS_RUN, *READS_RUN_TOO, CHECK, REPLAY, IMPORT, APPLICATION, SERVICES)
EVERY_READER = (*DATA_READERS, *RESUMES, *WORKLOADS, AUTHORITY)
OF_ENDING = {
    ".csv": (REPLAY,),
    ".gz": (REPLAY,),
    ".log": (IMPORT,),
    ".jtl": (IMPORT,),
    ".summary": (IMPORT,),
    ".table": (IMPORT,),
    ".history": (IMPORT,),
    ".toml": (APPLICATION, SERVICES),
    ".jsonl": READS_RUN[:1],
}
OF_NAME = {"application": (APPLICATION,), "services": (SERVICES,)}
BOTH = {"escape", "escaped-key", "half", "half-key", "pools", "engines", "unread", "long", "binary"}
"""Files of pools that are shown as JSON, too."""
COLUMNS = b"pool_size,second,throughput,p95_ms\n"
HISTORY = b"Timestamp,User Count,Name,95%,Total Request Count,Total Failure Count\n"
JTL = b"timeStamp,elapsed,label,success,allThreads\n"
SECOND = b"[ %ds ] thds: %d tps: 494.2 qps: 9884.1 (r/w/o: 1/1/1) lat (ms,95%%): 9.6 err/s: 0.00 reconn/s: 0.00\n"
MYSQL2 = b"require('mysql2');"
HIKARI = b"hikari: {maximum-pool-size: 9}\n"
APP = b'locustfile = "locustfile.py"\nhost = "http://127.0.0.1:1"\nresize = "true {pool_size}"\n'
NUMBERS = ("1e300", "1e30", "-4", "0", "nan", "inf", "1e400", "", "x", "4.5")
SECRET = "Secret9"  # noqa: S105 (no password: commands must not print it)
ESCAPE = b"\x1b]0;owned\x07"


def hostile_files(folder: Path, kinds: Sequence[str]) -> Iterator[list[str]]:
    """Write files of these kinds that ask for more than they should, and yield the commands for each.

    A file is removed when the next one is asked for.
    """
    (folder / "pool.py").write_text("create_engine(u, pool_size=5)")
    (folder / "locustfile.py").write_text("")
    for kind in kinds:
        for name, content in KINDS.get(kind, dict)().items():
            (folder / name).write_bytes(content)
            yield from commands_for(name)
            (folder / name).unlink()
    if "special" in kinds:
        for name in _no_files(folder):
            yield from _commands(EVERY_READER, name)
        for name in _endless_files(folder):
            yield from _commands(DATA_READERS, name)
    if "names" in kinds:
        for name in _odd_names(folder):
            yield from _commands(DATA_READERS, name)


def commands_for(name: str) -> list[list[str]]:
    """Return the commands that read a file of this name."""
    path = Path(name)
    is_whole_run = path.suffix == ".jsonl" and path.stem.startswith(("histogram-", "many-", "long-"))
    of_pools = (CHECK, CHECK_JSON) if path.stem in BOTH else (CHECK,)
    patterns = READS_RUN + READS_RUN_TOO if is_whole_run else OF_ENDING.get(path.suffix, of_pools)
    return list(_commands(OF_NAME.get(path.stem, patterns), name))


def _commands(patterns: Sequence[str], name: str) -> Iterator[list[str]]:
    for pattern in patterns:
        yield [word.replace("{}", name) for word in pattern.split()]


def valid_files() -> dict[str, bytes]:
    """Return a valid file of every kind that a command reads; its application has no Locust file, so nothing starts."""
    rows = [b"%d,%d,%d,%d\n" % (size, second, 100 * size, size) for size in (1, 2, 4, 8) for second in range(30)]
    history = [b"%d,8,Aggregated,10,%d,0\n" % (1_700_000_000 + second, 500 * second) for second in range(9)]
    own = {
        "curve.csv": COLUMNS + b"".join(rows),
        "packed.csv.gz": gzip.compress(COLUMNS + b"".join(rows), mtime=0),
        "sysbench.log": b"".join(SECOND % (second, 4) for second in range(1, 30)),
        "locust.history": HISTORY + b"".join(history),
        **{f"{path.stem}{OF_TOOL[path.suffix]}": path.read_bytes() for path in sorted(LOAD_TOOLS.iterdir())},
        "application.toml": APP.replace(b"locustfile.py", b"missing.py") + b"processes = 4\n[environment]\nA = 'b'\n",
        "services.toml": b'[[service]]\nname = "web"\ninstances = 2\nprocesses = 4\nthreads = 8\n'
        b'[[service]]\nname = "jobs"\ninstances = 1\n',
        "db.js": MYSQL2
        + b"const p = mysql.createPool({\n  connectionLimit: Number(process.env.POOL ?? 12),\n"
        + b"  queueLimit: 2 * 5, 'maxIdle': `5`, ...rest });\n",
        "run.jsonl": (EXAMPLES / "insert-mysql.jsonl").read_bytes(),
    }
    return own | {path.name: path.read_bytes() for path in sorted(POOL_FILES.iterdir())}


def _yaml_files() -> dict[str, bytes]:
    """Return Spring Boot's YAML that grows, nests or escapes."""
    tens = [b"a%d: &a%d {%s}\n" % (n, n, b", ".join(b"k%d: *a%d" % (k, n - 1) for k in range(10))) for n in range(1, 9)]
    profile = b"---\nspring: {profiles: p%d, datasource: {hikari: {maximum-pool-size: 5}}}\n"
    twice = [b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 40)]
    merged = [b"a%d: &a%d {<<: [*a%d, *a%d]}\n" % (n, n, n - 1, n - 1) for n in range(1, 40)]
    base = b"".join(b"k%d: 1\n" % n for n in range(20_000))
    contents = {
        "leaves": b"a0: &a0 {x: 1}\n" + b"".join(tens),
        "lists": b"a0: &a0 []\n" + b"".join(twice),
        "maps": b"a0: &a0 {}\n" + b"".join(twice),
        "merges": b"a0: &a0 {}\n" + b"".join(merged),
        "merged-leaf": b"a0: &a0 {maximum-pool-size: 9}\n" + b"".join(merged),
        "itself": b"a: &a [*a]\n",
        "merges-itself": b"hikari: &a {<<: *a, maximum-pool-size: 9}\n",
        "holds-itself": b"hikari: &a {x: *a}\n",
        "flat": b"a: 1\n" * 400_000,
        "documents": b"--- 1\n" * 300_000,
        "pools": b"".join(b"h%d.hikari.maximum-pool-size: 5\n" % n for n in range(50_000)),
        "brackets": b"[" * 100_000,
        "braces": b"{a: " * 100_000,
        "deep": b"".join(b" " * n + b"a:\n" for n in range(1500)),
        "dashes": b"- " * 500_000,
        "questions": b"? " * 500_000,
        "scalar": b"a: " + b"x" * 2_000_000,
        "key": b"x" * 1_000_000 + b": 1\n",
        "dotted": b"a." * 500_000 + b"hikari.maximum-pool-size: 5\n",
        "dots": b"hikari." * 100_000 + b"maximum-pool-size: 5\n",
        "anchors": b"".join(b"- &a%d 1\n" % n for n in range(100_000)),
        "undefined": b"a: *" + b"x" * 1_000_000,
        "tags": b"!a" * 500_000,
        "quoted": b'a: "' + b"\\n" * 900_000 + b'"',
        "folded": b"a: >\n" + b" x\n" * 500_000,
        "blank": b"a: |\n" + b"\n" * 1_900_000,
        "comments": b"#\n" * 900_000,
        "tabs": b"\t" * 1_000_000,
        "profiles": base + b"".join(profile % n for n in range(5000)),
        "nul": b"\0" * 100_000,
        "escape": b'hikari: {maximum-pool-size: "\\e]0;owned\\a"}\n',
        "raw-escape": b"hikari: {a: " + ESCAPE + b"}\n",
        "escaped-key": b'"\\e]0;owned\\a.hikari": {maximum-pool-size: 5}\n',
        "half": b'hikari: {maximum-pool-size: "\\ud800"}\n',
        "half-key": b'"\\udc00.hikari": {maximum-pool-size: 5}\n',
        "utf16": HIKARI.decode().encode("utf-16"),
        "bom": b"\xef\xbb\xbf" + HIKARI,
        "latin": b"hikari: \xe9\xff\n",
        "binary": bytes(range(256)) * 4000,
        "defaults": b"hikari: {maximum-pool-size: '" + b"${a:" * 200_000 + b"}" * 200_000 + b"'}\n",
        "dollars": b"hikari: {maximum-pool-size: '" + b"${a:" * 250_000 + b"'}\n",
        "digits": b"hikari: {maximum-pool-size: " + b"9" * 1_000_000 + b"}\n",
        "secret": b"password: 'Secret9\n",
        "secret-tab": b"password: Secret9: x\n",
        "percent": b"%" + b"YAML " * 300_000,
        "colons": b": " * 500_000,
        "pipes": b"a: |" + b"9" * 100_000,
        "crlf": b"hikari:\r\n  maximum-pool-size: 9\r\n" + b"\r\n" * 500_000,
    }
    return {f"{name}.yml": content for name, content in contents.items()}


def _properties_files() -> dict[str, bytes]:
    contents = {
        "continued": b"a=\\\n" * 500_000,
        "backslash": b"a=\\",
        "flat": b"a=1\n" * 400_000,
        "slashes": b"\\" * 1_000_000,
        "pools": b"".join(b"h%d.hikari.maximumPoolSize=5\n" % n for n in range(50_000)),
        "one": b"a=" + b"x" * 2_000_000,
        "dots": b"." * 1_000_000 + b"=1",
        "dotted": b"a." * 400_000 + b"hikari.maximumPoolSize=5\n",
        "nul": b"\0" * 100_000,
        "escape": b"hikari.maximumPoolSize=\\u001b]0;owned\\u0007\n",
        "half": b"hikari.maximumPoolSize=\\ud800\n",
        "cut-escape": b"hikari.maximumPoolSize=\\u12",
        "unread": b"".join(
            b"hikari."
            + b"".join(b"-" if n >> bit & 1 else b"" for bit in range(1))
            + b"maximum"
            + b"-" * (n % 500)
            + b"PoolSize=%d\n" % n
            for n in range(20_000)
        ),
        "blank": b"\n" * 1_900_000,
        "comments": b"#\n" * 900_000,
        "spaces": b" " * 1_900_000,
        "equals": b"=" * 1_000_000,
        "defaults": b"hikari.maximumPoolSize=" + b"${a:" * 200_000 + b"}" * 200_000,
        "bom": b"\xef\xbb\xbfhikari.maxLifetime=1",
        "latin": b"hikari.maximumPoolSize=\xe9\n",
        "utf16": "hikari.maximumPoolSize=9".encode("utf-16"),
        "returns": b"\r" * 1_000_000,
        "colon": b":" * 1_000_000,
        "octal": b"a=" + b"\\7" * 500_000,
    }
    return {f"{name}.properties": content for name, content in contents.items()}


def _python_files() -> dict[str, bytes]:
    spread = b"d0={}\n" + b"".join(b"d%d={**d%d,**d%d}\n" % (n, n - 1, n - 1) for n in range(1, 40))
    sums = b"a0=1\n" + b"".join(b"a%d=a%d+a%d\n" % (n, n - 1, n - 1) for n in range(1, 40))
    contents = {
        "spread": spread + b"create_engine(u, **d39)\n",
        "spread-few": spread + b"create_engine(u, **d15)\n",
        "spread-itself": b"d={**d}\ncreate_engine(u, **d)\n",
        "functions": b"def f(): return {**f(), **f()}\ncreate_engine(u, **f())",
        "keywords": b"def f(): return dict(**g(), **g())\ndef g(): return {**f()}\ncreate_engine(u, **f())",
        "sums": sums + b"create_engine(u, pool_size=a39)\n",
        "itself": b"a=a+a\ncreate_engine(u, pool_size=a)\n",
        "engines": b"create_engine(u, pool_size=5)\n" * 60_000,
        "brackets": b"(" * 100_000,
        "minus": b"-" * 100_000 + b"1",
        "plus": b"create_engine(u, pool_size=" + b"1+" * 100_000 + b"1)",
        "not": b"not " * 100_000 + b"1",
        "attributes": b"a" + b".a" * 200_000,
        "calls": b"a" + b"()" * 200_000,
        "nested": b"create_engine(x=" * 190 + b")" * 190,
        "nested-sizes": b"create_engine(pool_size=" * 90 + b"1" + b")" * 90,
        "digits": b"create_engine(u, pool_size=" + b"9" * 5000 + b")",
        "hex": b"create_engine(u, pool_size=0x" + b"f" * 500_000 + b")",
        "nul": b"create_engine(u)\0",
        "escape": b"create_engine(u, pool_size='\\x1b]0;owned\\x07')",
        "raw-escape": b"create_engine(u, pool_size='" + ESCAPE + b"')",
        "half": b"create_engine(u, pool_size='\\ud800')",
        "long": b"create_engine(u, pool_size='" + b"x" * 1_900_000 + b"')",
        "long-sum": b"create_engine(u, pool_size=" + b"aaaaaaaa+" * 900 + b"1)",
        "assignments": b"a=1\n" * 500_000,
        "targets": b"a=" * 400_000 + b"1",
        "strings": b"''" * 500_000,
        "fstrings": b"f'{" * 200 + b"1" + b"}'" * 200,
        "lambdas": b"lambda: " * 50_000 + b"1",
        "elifs": b"if a: pass\n" + b"elif a: pass\n" * 50_000,
        "tabs": b"\t" * 1_000_000,
        "indents": b"".join(b" " * n + b"if a:\n" for n in range(99)) + b" " * 100 + b"pass",
        "commas": b"a," * 500_000,
        "defs": b"".join(b" " * n + b"def f():\n" for n in range(99)) + b" " * 100 + b"return {}\n" * 5000,
        "unread": b"create_engine(u, **{" + b"'poolSize': 1, " * 60_000 + b"})",
        "pairs": b"D = {" + b"'CONN_MAX_AGE': 1, " * 60_000 + b"}",
        "dicts": b"{'CONN_MAX_AGE':" * 90 + b"1" + b"}" * 90,
        "backslashes": b"\\\n" * 500_000,
        "quotes": b"'''" * 300_001,
        "walrus": b"(a:=" * 100_000,
        "unicode": "é".encode() * 500_000,
        "bad": b"\xff" * 500_000,
        "coding": b"# coding: utf-7\n+AHs-",
        "power": b"create_engine(u, pool_size=9**9**9**9)",
        "times": b"create_engine(u, pool_size=int('9'*10**9))",
        "zero": b"create_engine(u, pool_size=1//0)",
        "imaginary": b"create_engine(u, pool_size=1j)",
        "comments": b"#\n" * 900_000,
        "decorators": b"@a\n" * 100_000 + b"def f(): pass",
        "awaits": b"await " * 100_000 + b"a",
        "stars": b"*" * 1_000_000,
        "match": b"match a:\n" + b" case 1: pass\n" * 60_000,
        "crlf": b"create_engine(u)\r\n" * 50_000,
        "bom": b"\xef\xbb\xbfcreate_engine(u)",
        "subscripts": b"a" + b"[0]" * 200_000,
        "dots": b"." * 1_000_000,
        "semicolons": b"a;" * 500_000,
    }
    return {f"{name}.py": content for name, content in contents.items()}


def _other_sources() -> dict[str, bytes]:
    """Return JavaScript, TypeScript and Go."""
    many = {
        "open": b"createPool(",
        "number": b"createPool({connectionLimit: Number(",
        "numbers": b"Number(",
        "template": b"`",
        "templates": b"`${",
        "regexes": b"a/",
        "regex": b"/[",
        "comment": b"/*",
        "line-comment": b"//\n",
        "html": b"<!--",
        "quote": b"'\\",
        "double": b'"\\',
        "braces": b"{",
        "brackets": b"[",
        "or": b"a||",
        "null": b"a??",
        "spread": b"...{",
        "arrow": b"a=>",
        "closed": b")",
        "digits": b"1_",
        "number-e": b"1e",
        "dollar": b"$",
        "question": b"?.",
        "less": b"<",
        "at": b"@",
        "hash": b"#",
        "backslash": b"\\",
        "escape": b"\\u{1",
        "newline": b"\n",
        "spaces": b" ",
        "nul": b"\0",
        "unicode": "ü".encode(),
        "bad": b"\xff",
        "colon": b"a:",
        "function": b"function ",
        "class": b"class a{",
        "jsx": b"<a>",
        "calls": b"createPool({connectionLimit: 5});",
        "equals": b"=",
        "slash-star": b"/*/",
        "dots": b".",
        "crlf": b"\r\n",
        "limits": b"connectionLimit: 5,",
        "strings": b"'a'",
        "ors": b"createPool({connectionLimit: a||",
        "minus": b"-1*",
    }
    files = {f"{name}.js": MYSQL2 + part * (400_000 // len(part)) for name, part in many.items()}
    files["most.js"] = MYSQL2 + b"createPool(" * 180_000
    files |= {f"{name}.ts": MYSQL2 + b"createPool({connectionLimit: " + part * 20_000 for name, part in many.items()}
    files["issue-open.js"] = MYSQL2 + b"createPool(" * 60_000
    files["issue-closed.js"] = MYSQL2 + b"createPool(" * 60_000 + b")" * 60_000
    files["issue-number.js"] = (
        MYSQL2 + b"createPool({connectionLimit: " + b"Number(" * 20_000 + b"5" + b")" * 20_000 + b"})"
    )
    files["escape.js"] = MYSQL2 + b"createPool({connectionLimit: '" + ESCAPE + b"'})"
    go = {
        "limits": b"db.SetMaxOpenConns(",
        "receiver": b"a.",
        "backtick": b"`",
        "comment": b"/*",
        "times": b"db.SetConnMaxLifetime(1*",
        "func": b"func ",
        "open": b'sql.Open("mysql", u);',
        "quote": b'"\\',
        "rune": b"'\\",
        "brackets": b"((",
        "line": b"//\n",
        "digits": b"1_",
        "hex": b"0x",
        "calls": b"db.SetMaxOpenConns(5)\n",
        "functions": b"func f() { db.SetMaxOpenConns(5) }\n",
        "numbers": b"9",
        "spaces": b" ",
        "nul": b"\0",
        "bad": b"\xff",
        "stars": b"*",
        "closed": b")",
        "letters": b"a",
    }
    files |= {f"{name}.go": part * (400_000 // len(part)) for name, part in go.items()}
    files |= {f"{name}-inside.go": b"db.SetMaxOpenConns(" + part * 20_000 for name, part in go.items()}
    files["receivers.go"] = b"a." * 400_000 + b"SetMaxOpenConns(5)"
    files["nested.go"] = b"db.SetMaxOpenConns(" * 50_000 + b")" * 50_000
    files["escape.go"] = b"db.SetMaxOpenConns(`" + ESCAPE + b"`)"
    return files


def _option_files() -> dict[str, bytes]:
    contents = {
        "sections": b"".join(b"[mysqld-%d]\nmax_connections=5\n" % n for n in range(50_000)),
        "flat": b"[mysqld]\n" + b"".join(b"a%d=1\n" % n for n in range(150_000)),
        "same": b"[mysqld]\n" + b"max_connections=5\n" * 100_000,
        "continued": b"[mysqld]\nmax_connections=5\n" + b" 5\n" * 500_000,
        "brackets": b"[" * 1_000_000,
        "empty": b"[]\n" * 400_000,
        "secret": b"password = Secret9\n",
        "secret-line": b"[client]\n= Secret9\n",
        "includes": b"!include /etc/shadow\n" * 90_000,
        "spellings": b"[mysqld]\n"
        + b"".join(b"max" + b"_-"[n % 2 : n % 2 + 1] * (n % 99 + 1) + b"connections=5\n" for n in range(60_000)),
        "nul": b"[mysqld]\n" + b"\0" * 100_000,
        "escape": b"[mysqld" + b"-" + ESCAPE + b"]\nmax_connections=" + ESCAPE + b"\n",
        "latin": b"[mysqld]\nmax_connections=\xe9",
        "long": b"[mysqld]\nmax_connections=" + b"9" * 1_900_000,
        "percent": b"[mysqld]\n%=%(a)s\n",
        "name": b"[mysqld-" + b"x" * 1_000_000 + b"]\nmax_connections=5\n",
        "equals": b"[mysqld]\n" + b"=" * 1_000_000,
        "hashes": b"#\n" * 900_000,
        "inline": b"[mysqld]\nmax_connections=5" + b" #" * 900_000,
        "blank": b"\n" * 1_900_000,
        "bom": b"\xef\xbb\xbf[mysqld]\nmax_connections=5",
        "utf16": "[mysqld]\nmax_connections=5".encode("utf-16"),
        "separators": "[mysqld]\u2028max_connections=5".encode() * 40_000,
    }
    return {f"{name}.cnf": content for name, content in contents.items()} | {"flat.ini": contents["flat"]}


def _tables() -> dict[str, bytes]:
    """Return TOML for the file of an application, and for the services of a fleet."""
    service = b'[[service]]\nname = "s%d"\ninstances = 1\n'
    contents = {
        "dotted": b"a." * 200_000 + b"b = 1",
        "dotted-app": APP + b"environment." + b"a." * 200_000 + b"b = 1",
        "brackets": b"a = " + b"[" * 100_000,
        "inline": b"a = " + b"{a=" * 100_000,
        "table": b"[" + b"a." * 200_000 + b"a]",
        "digits": b"a = " + b"9" * 5000,
        "hex": b"a = 0x" + b"f" * 900_000,
        "keys": b"".join(b"k%d=1\n" % n for n in range(90_000)),
        "tables": b"".join(b"[t%d]\n" % n for n in range(90_000)),
        "headers": b"".join(b"[" + b"a." * 300 + b"t%d]\n" % n for n in range(1500)),
        "again": b"[a]\n" * 200_000,
        "long": b"a = '" + b"x" * 900_000 + b"'",
        "key": b"x" * 900_000 + b"=1",
        "services": b"".join(service % n for n in range(20_000)),
        "lists": b"[[service]]\n" * 80_000,
        "instances": (service % 1).replace(b"= 1", b"= 1" + b"0" * 400),
        "app-list": APP + b"start = [" + b"1," * 400_000 + b"]",
        "secret-list": APP + b'database = ["mysql://u:Secret9@h/"]',
        "secret": APP + b'database = "u:Secret9@x/db"',
        "secret-two": APP + b'database = "mysql://app:Pw@Secret9/db@host/"',
        "secret-key": APP + b'"mysql://u:Secret9@h/" = 1\n"mysql://u:Secret9@h/" = 2',
        "secret-start": APP.replace(b"resize = ", b"resize = 5 # ") + b'start = ["sh", "Secret9"]',
        "secret-quote": APP + b'database = "mysql://u:Secret9@h/',
        "escape": b'"\\u001b]0;owned\\u0007" = 1',
        "escape-app": APP.replace(b"locustfile.py", b"\\u001b]0;owned\\u0007"),
        "raw-escape": ESCAPE,
        "nul": APP + b"\0",
        "nul-path": APP.replace(b"locustfile.py", b"a\\u0000b"),
        "nul-folder": APP + b'directory = "a\\u0000"',
        "nul-command": APP.replace(b"true", b"tr\\u0000ue"),
        "long-path": APP.replace(b"locustfile.py", b"x" * 5000),
        "long-folder": APP + b'directory = "' + b"x/" * 5000 + b'"',
        "utf16": APP.decode().encode("utf-16"),
        "bom": b"\xef\xbb\xbf" + APP,
        "latin": b"a = '\xe9'",
        "nan": APP + b"ready_seconds = nan",
        "inf": APP + b"ready_seconds = inf",
        "many": APP + b"instances = 99999999999999999999",
        "dates": b"a = [" + b"1979-05-27T07:32:00Z," * 40_000 + b"]",
        "floats": b"a = [" + b"1e999," * 100_000 + b"]",
        "multi": b'a = """' + b"\\\n" * 400_000,
        "quotes": b'"' * 900_000,
        "environment": APP + b"[environment]\n" + b"".join(b'k%d = "x"\n' % n for n in range(60_000)),
        "host": APP.replace(b"http://127.0.0.1:1", b"http://[::1"),
        "port": APP.replace(b"127.0.0.1:1", b"127.0.0.1:99999999"),
        "folder-locustfile": APP.replace(b"locustfile.py", b"."),
        "device": APP.replace(b"locustfile.py", b"/dev/zero"),
        "fifo": APP.replace(b"locustfile.py", b"fifo.py"),
        "equals": b"=" * 900_000,
        "hashes": b"#\n" * 400_000,
        "blank": b"\n" * 1_000_000,
        "comma": b"a = [" + b"," * 900_000,
    }
    return {f"{name}.toml": content for name, content in contents.items()}


def _recordings() -> dict[str, bytes]:
    rows = b"1,1,1,1\n"
    contents = {
        "digits.csv": COLUMNS + b"9" * 5000 + b",1,2,3\n",
        "bomb.csv.gz": gzip.compress(bytes(300 * 2**20), 9),
        "cut.csv.gz": gzip.compress(COLUMNS + rows)[:-9],
        "long.csv": COLUMNS + rows * 2_000_000,
        "field.csv": COLUMNS + b'"' + b"x" * 1_000_000 + b'",1,1,1\n',
        "rows.csv": COLUMNS + rows * 1_000_000,
        "rows.csv.gz": gzip.compress(COLUMNS + rows * 1_000_000),
        "members.csv.gz": gzip.compress(b"") * 350_000,
        "zeros.csv.gz": gzip.compress(COLUMNS + rows) + bytes(16_700_000),
        "twice.csv.gz": gzip.compress(gzip.compress(bytes(300 * 2**20), 9)),
        "name.csv.gz": b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * 16_700_000,
        "extra.csv.gz": b"\x1f\x8b\x08\x04" + bytes(6) + b"\xff\xff" + b"x" * 70_000,
        "magic.csv": b"\x1f\x8b",
        "nul.csv": COLUMNS + b"\0" * 1_000_000,
        "quotes.csv": COLUMNS + b'"' * 16_700_000,
        "commas.csv": COLUMNS + b"," * 16_700_000,
        "columns.csv": b"," * 16_700_000,
        "empty.csv": b"",
        "newlines.csv": COLUMNS + b"\n" * 16_700_000,
        "sizes.csv": COLUMNS + b"".join(b"%d,1,1,1\n" % n for n in range(1, 100_001)),
        "large.csv": COLUMNS + b"".join(b"%d,1,1,1\n" % n for n in range(1, 100_001, 10)),
        "users.csv": COLUMNS[:-1] + b",users\n" + b"".join(b"1,1,1,1,%d\n" % n for n in range(1, 400_000)),
        "utf16.csv": (COLUMNS + rows).decode().encode("utf-16"),
        "bom.csv": b"\xef\xbb\xbf" + COLUMNS + rows,
        "escape.csv": COLUMNS + ESCAPE + b",1,1,1\n",
        "latin.csv": COLUMNS + b"\xe9,1,1,1\n",
        "spaces.csv": COLUMNS + b" " * 16_700_000,
        "returns.csv": COLUMNS + b"\r" * 16_700_000,
        "same.csv": COLUMNS[:-1] + b",pool_size" * 600_000 + b"\n" + rows,
    }
    for number in NUMBERS:
        for place, name in enumerate(("size", "second", "rate", "p95")):
            row = ["2", "1", "2", "3"]
            row[place] = number
            contents[f"{name}{number}.csv"] = COLUMNS + ",".join(row).encode() + b"\n"
    return contents


def _logs() -> dict[str, bytes]:
    contents = {
        "threads.log": SECOND.replace(b"%d tps", b"9" * 5000 + b" tps").replace(b"%d", b"1").replace(b"%%", b"%"),
        "points.log": b"[ 1s ] thds: 4 tps: 1.2.3 qps: 1 lat (ms,95%): 1.0 err/s: 0\n",
        "second.log": b"[ " + b"9" * 5000 + b"s ] thds: 4 tps: 1.0 qps: 1 lat (ms,95%): 1.0 err/s: 0\n",
        "none.log": b"[ 1s ] thds: 0 tps: 1.0 qps: 1 lat (ms,95%): 1.0 err/s: 0\n",
        "long.log": b"x" * 100 * 2**20,
        "full.log": b"".join(SECOND % (n, 4) for n in range(300_000)),
        "sizes.log": b"".join(SECOND % (n, n % 100_000 + 1) for n in range(300_000)),
        "lat.log": b"[ 1s ] thds: 4 tps: 1.0 " + b"lat (ms,95%): " * 2_000_000,
        "dots.log": b"[ 1s ] thds: 4 tps: " + b"." * 30_000_000,
        "spaces.log": b"[" + b" " * 30_000_000,
        "one.log": b"[ 1s ] thds: 4 tps: " + b"1" * 30_000_000,
        "starts.log": b"[ 1s ] thds: 4 tps: 1.0 \n" * 1_200_000,
        "newlines.log": b"\n" * 30_000_000,
        "nul.log": bytes(30_000_000),
        "escape.log": b"[ 1s ] thds: 9 tps: 1.2.3 " + ESCAPE + b"lat (ms,95%): 1.0\n",
        "bom.log": b"\xef\xbb\xbf" + SECOND % (1, 4),
        "empty.log": b"",
        "returns.log": b"\r" * 30_000_000,
        "letters.log": "é\n".encode() * 10_000_000,
        "utf16.log": "[ 1s ] thds: 4".encode("utf-16"),
        "gap.log": SECOND % (1, 4) + SECOND % (10**15, 4),
        "field.history": HISTORY + b'"' + b"x" * 200_000 + b'",1,Aggregated,1,1,0\n',
        "rows.history": HISTORY
        + b"".join(b"%d,8,Aggregated,10,%d,0\n" % (1_700_000_000 + n, 500 * n) for n in range(900_000)),
        "users.history": HISTORY
        + b"".join(
            b"%d,%d,Aggregated,10,%d,0\n" % (1_700_000_000 + n, n // 6 % 90_000 + 1, 500 * n) for n in range(700_000)
        ),
        "columns.history": HISTORY[:-1] + b",x" * 9_000_000,
        "commas.history": HISTORY + b"," * 30_000_000,
        "quotes.history": HISTORY + b'"' * 30_000_000,
        "short.history": HISTORY + b"1\n" * 9_000_000,
        "names.history": HISTORY[:-1] + b",Name" * 1_000_000 + b"\n1,1,1\n",
        "others.history": HISTORY + b"1,1,1,1,1,1\n" * 2_000_000,
        "samples.jtl": JTL + b"1700000000000,1,a,true,4\n" * 900_000,
        "apart.jtl": JTL + b"1,1,a,true,4\n9999999999999,1,a,true,4\n",
        "users.jtl": JTL + b"".join(b"%d,1,a,true,%d\n" % (1000 * n, n // 9) for n in range(800_000)),
        "number.jtl": JTL + b"9" * 90_000 + b",1,a,true,4\n",
        "nested.summary": b'{"metrics":' * 100_000,
        "wide.summary": b'{"metrics": {"vus": {"max": 4}, "http_reqs": {"rate": 9}, "a": ['
        + b"[]," * 1_000_000
        + b"[]]}}",
        "huge.summary": b'{"metrics": {"vus": {"max": 1e400}, "http_reqs": {"rate": %s}}}' % (b"9" * 9000),
        "long.summary": b'{"metrics": "' + b"x" * 30_000_000,
        "runs.log": b"Running 1s test @ a\n" + b"1 threads and 4 connections\nRequests/sec: 9.0\n" * 400_000,
        "slap.log": b"Number of clients running queries: 4\n" * 900_000,
        "vusers.log": b"4 Active Virtual Users configured\nSystem achieved 1 NOPM from 9 MySQL TPM\n" * 400_000,
        "percent.log": b"Running 1s test @ a\n1 threads and 4 connections\n" + b"%d%% 1.0ms\n" % 50 * 900_000,
        "json.log": b"sysbench 1.0\n" + b'"time": 1,\n"threads": 4,\n"tps": 9.0,\n"latency": 1.0,\n' * 240_000,
        "begins.log": b"Running the test with following options\nNumber of threads: 4\n"
        b"    transactions: 9 (9.00 per sec.)\n" * 300_000,
        "columns.table": b"threads,tps" + b",p95" * 24_000 + b"\n4,9\n",
        "bars.table": b"|" * 90_000 + b"\n" + b"|" * 30_000_000,
        "sizes.table": b"threads,tps\n" + b"".join(b"%d,9\n" % n for n in range(1, 99_999)),
        "rows.table": b"threads,tps\n" + b"4,9\n" * 900_000,
        "slaps.table": b"a,b,1.000,1.000,1.000,4,9\n" * 900_000,
        "words.table": b"a_" * 40_000 + b",tps\n1,2\n",
        "newlines.history": HISTORY + b"\n" * 30_000_000,
    }
    for number in NUMBERS:
        for column in range(6):
            row = ["1700000000", "8", "Aggregated", "10", "500", "0"]
            rows = [[str(int(row[0]) + at), *row[1:4], str(500 * at), "0"] for at in range(9)]
            rows[5][column] = number
            contents[f"column{column}-{number}.history"] = HISTORY + "\n".join(map(",".join, rows)).encode()
    return contents


def _runs() -> dict[str, bytes]:
    """Return lines that are not a run's, and a run with long lines."""
    header, calibration, step = (json.dumps(record).encode() + b"\n" for record in run_lines(steps=1))
    series = step.replace(b'"throughput": [', b'"throughput": [' + b"1, " * 2_500_000)
    most = 2**23 - 20
    contents = {
        "zeros": bytes(2**20),
        "brackets": b"[" * 200_000,
        "nested": b'{"a":' * 200_000,
        "empty": b"",
        "binary": bytes(range(256)) * 1000,
        "long-line": b'{"format": 8, "x": "' + b"x" * 100 * 2**20 + b'"}\n',
        "digits": b'{"format": 1' + b"0" * 5000 + b"}\n",
        "checks": header + step.replace(b'"checks": [', b'"checks": null, "x": [', 1),
        "escape": b'{"\\u001b[31m": ' + b"[" * 600 + b"1e30" + b"]" * 600 + b"}\n",
        "lists": b'{"a":[' + b"[]," * (most // 3) + b"1]}\n",
        "tables": b'{"a":[' + b"{}," * (most // 3) + b"1]}\n",
        "numbers": b'{"a":[' + b"1," * (most // 2) + b"1]}\n",
        "floats": b'{"a":[' + b".5,"[0:0] + b"0.5," * (most // 4) + b"1]}\n",
        "escapes": b'{"a":"' + b"\\n" * (most // 2 - 10) + b'"}\n',
        "texts": b'{"\\u00e9":[' + b'"",' * (most // 3 - 9) + b"1]}\n",
        "keys": b"{" + b",".join(b'"%d":1' % n for n in range(700_000)) + b"}\n",
        "same-keys": b"{" + b'"a":1,' * 1_300_000 + b'"a":1}\n',
        "half": header + b'{"ended": "\\ud800"}\n',
        "half-key": b'{"\\ud800": 1}\n',
        "series": header + calibration + series,
        "step-lists": header + b'{"step":{"checks":[' + b"[]," * 2_700_000 + b"1]}}\n",
        "step-checks": header + step.replace(b'"checks": [', b'"checks": [' + b"{}," * 2_000_000),
        "step-server": header
        + step.replace(b'"server": {', b'"server": {' + b",".join(b'"x%d": [1]' % n for n in range(500_000)) + b","),
        "kinds": header
        + step.replace(b'"kinds": {', b'"kinds": {' + b",".join(b'"k%d": 1' % n for n in range(500_000)) + b","),
        "setting": b'{"format": 8, "setting": {"x": [' + b"{}," * 2_700_000 + b"1]}}\n",
        "sizes": header.replace(b'"sizes": [', b'"sizes": [' + b"1, " * 2_500_000) + step,
        "many-sizes": header.replace(
            b'"sizes": [', b'"sizes": [' + b", ".join(b"%d" % n for n in range(200, 90_000)) + b", "
        )
        + step,
        "newlines": b"\n" * 8_000_000,
        "spaces": b" " * 9_000_000,
        "utf16": (header + step).decode().encode("utf-16"),
        "bom": b"\xef\xbb\xbf" + header + step,
        "latin": header.replace(b"insert", b"ins\xe9rt") + step,
        "infinite": b'{"format": Infinity}\n',
        "sections": header + step.replace(b'"p50": [', b'"p50": [' + b"1, " * 2_400_000, 1),
        "torn": header + step + step[:-9],
        "workers": header + step.replace(b'"workers": [', b'"workers": [' + b"{}, " * 1_500_000),
    }
    return {f"{name}.jsonl": content for name, content in contents.items()}


def _histograms() -> dict[str, bytes]:
    """Return runs with damaged histograms."""
    histogram = run_lines()[2]["step"]["latencies"]["total"]
    packed = base64.b64decode(histogram)
    counts = zlib.compress(zlib.decompress(packed[8:])[:40] + b"\x80" * 2**20, 9)
    texts = {
        "inflated": _inflating(histogram),
        "cut": histogram[:-20],
        "none": "",
        "other": "HISTx",
        "bits": "H" * 2**20,
        "padded": "=" * 2**20,
        "counts": base64.b64encode(packed[:4] + struct.pack(">I", len(counts)) + counts).decode(),
        "length": base64.b64encode(packed[:4] + b"\xff" * 4 + packed[8:]).decode(),
    }
    return {f"histogram-{name}.jsonl": _with_step(("latencies", "total"), text) for name, text in texts.items()}


def _crowds() -> dict[str, bytes]:
    """Return runs whose records are valid and very many."""
    step = run_lines()[2]["step"]
    seconds = len(step["throughput"])
    kind = {"transactions": 1, "latencies": step["latencies"]}
    numbers = range(12_000)
    crowds: dict[JsonPath, Any] = {
        ("errors",): {f"k{n}": [1] * seconds for n in numbers},
        ("programs",): {f"p{n}": 1.0 for n in numbers},
        ("server",): {f"s{n}": [1.0] * seconds for n in numbers},
        ("kinds",): {f"t{n}": kind for n in numbers[:900]},
        ("workers",): [{**step["workers"][0], "name": f"w{n}"} for n in numbers[:5000]],
        ("checks",): step["checks"] * 1500,
        ("throughput",): [3000] * 299_000,
    }
    runs = {f"many-{at[0]}.jsonl": _with_step(at, value) for at, value in crowds.items()}
    alone: dict[str, Any] = {"p95_ms": [], "backlog": [], "busy": [], "errors": {}, "server": {}}
    runs["long-step.jsonl"] = _with_step((), {**step, **alone, "throughput": [3000, 3100] * 149_000})
    named = changed(run_lines(), (0, "setting", "plan", "workload"), "w" * 2_000_000)
    keyed = _with_step(("errors",), {"k" * 2_000_000: [1] * seconds})
    return runs | {"long-name.jsonl": as_lines(named), "long-key.jsonl": keyed}


def _with_step(at: JsonPath, value: Any) -> bytes:
    """Return the lines of a run in whose first step another value stands in one place."""
    records = run_lines(steps=1000)
    return as_lines([*records[:2], changed(records[2], ("step", *at), value), *records[3:]])


def _inflating(histogram: str) -> str:
    """Return an encoded histogram whose inflated form has 300 MB."""
    packed = base64.b64decode(histogram)
    inflated = zlib.decompress(packed[8:])
    longer = zlib.compress(inflated + bytes(300 * 2**20), 9)
    return base64.b64encode(packed[:4] + len(longer).to_bytes(4, "big") + longer).decode()


def _no_files(folder: Path) -> Iterator[str]:
    """Make what is not a regular file, and yield its names: no reader may wait for one, or read without end."""
    os.mkfifo(folder / "fifo.py")
    (folder / "folder.py").mkdir()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "socket.py"))
    links = {
        "zero.py": "/dev/zero",
        "to-fifo.py": "fifo.py",
        "loop.py": "loop.py",
        "dangling.py": "nowhere",
        "full.py": "/dev/full",
        "terminal.py": "/dev/tty",
        "random.py": "/dev/urandom",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    yield from (*links, "fifo.py", "folder.py", "socket.py", "/dev/zero", "/dev/stdin", "x" * 300 + ".py")


def _endless_files(folder: Path) -> Iterator[str]:
    """Yield the names of regular files whose length says nothing: of /proc, and one that grows while it is read."""
    for name in ("mem", "maps", "status", "environ", "fd/0", "../kcore", "../kmsg"):
        link = folder / f"{name.replace('/', '-')}.py"
        link.symlink_to(f"/proc/self/{name}")
        yield link.name
    grows = "import time\nfor _ in range(300):\n open('grows.log', 'a').write('[' * 2**20)\n time.sleep(0.02)\n"
    with subprocess.Popen([sys.executable, "-c", grows], cwd=folder) as growing:
        while not (folder / "grows.log").exists():
            time.sleep(0.01)
        yield "grows.log"
        growing.kill()


def _odd_names(folder: Path) -> Iterator[str]:
    """Write files whose names are not text, or that a terminal would obey."""
    records = run_lines()
    for name in (
        "\udcff\udcfe.py",
        "\udcff.jsonl",
        "\x1b]0;owned\x07.jsonl",
        "new\nline.jsonl",
        "`run`.jsonl",
        "<b>.jsonl",
    ):
        written(records, folder / name)
        yield name


def run_lines(name: str = "insert-mysql", steps: int = 5) -> list[Any]:
    """Return the records of a shipped run's first lines."""
    lines = (EXAMPLES / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[: 2 + steps]]


def changed(record: Any, at: JsonPath, value: Any) -> Any:
    """Return a value of JSON in which another value stands in one place."""
    copy = json.loads(json.dumps(record))
    if not at:
        return value
    place = copy
    for part in at[:-1]:
        place = place[part]
    place[at[-1]] = value
    return copy


def written(records: Sequence[Any], path: Path) -> Path:
    """Write a run's file."""
    path.write_bytes(as_lines(records))
    return path


def as_lines(records: Sequence[Any]) -> bytes:
    """Return the text of a run's file."""
    text = "\n".join(json.dumps(record) for record in records) + "\n"
    return text.replace(f'"{ONE_E400}"', ONE_E400).encode()


KINDS: dict[str, Callable[[], dict[str, bytes]]] = {
    "yaml": _yaml_files,
    "properties": _properties_files,
    "python": _python_files,
    "sources": _other_sources,
    "options": _option_files,
    "tables": _tables,
    "recordings": _recordings,
    "logs": _logs,
    "runs": _runs,
    "histograms": _histograms,
    "crowds": _crowds,
    "special": dict,
    "names": dict,
}
"""Kind of file -> a function that returns its hostile files."""
