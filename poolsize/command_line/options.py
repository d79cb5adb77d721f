"""Options that several commands share: --json, --plot, --current, the latency limits, and a server's encryption.

Completions in a shell, too: of names, files of runs, and other files.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from poolsize.errors import BadInput
from poolsize.facts.ssl_mode import CA_DEFAULT, CA_HELP, MODE_DEFAULT, MODE_HELP, SslMode, read_ssl_mode
from poolsize.quick_record import QuickRecord
from poolsize.sweep.readers import positive_milliseconds, read

if TYPE_CHECKING:  # Matplotlib and pathlib stay out of a command without --plot, pymysql out of one without a server
    from pathlib import Path

    from click.shell_completion import CompletionItem
    from matplotlib.figure import Figure

    from poolsize.facts.inspection import Inspection
    from poolsize.facts.instance_class import InstanceClass

Form = Literal["short", "why", "json"]
"""The form of an answer: a few lines, with its evidence, or JSON."""
Decorated = TypeVar("Decorated", bound=Callable[..., Any])
LIMITS = ("current", "max_p95_ms", "max_p99_ms")
"""Parameters of the options of limit_options."""
TEXT = "poolsize.text."
"""Before a parameter's name: the key, in click's meta data, of the text that read_by has read."""


def read_by(reader: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """Return the callback, for click, of an option whose value a reader of poolsize.sweep.readers makes of its text.

    An option that was not typed and has no default stays None. Raises BadInput for a text that the reader refuses.
    """

    def value(context: click.Context, parameter: click.Parameter, text: str | None) -> Any:
        name = str(parameter.name)
        context.meta[f"{TEXT}{name}"] = text
        return None if text is None else read(name, text, reader)

    return value


def completed_by(
    names: Callable[[str], Iterable[str]], *, else_files: bool
) -> "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]":
    """Return the function, for click, that completes a word to the names that begin with it.

    names: called with the word. else_files: whether the shell completes files where no name begins with it.
    """

    def completed(_: click.Context, __: click.Parameter, word: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        items = [CompletionItem(name) for name in names(word) if name.startswith(word)]
        return items or ([CompletionItem(word, type="file")] if else_files else [])

    return completed


def _runs(word: str) -> list[str]:
    """Return the files of runs that begin with the word; without a word and a file here, those in RUN_FOLDER."""
    from glob import escape, glob

    files = sorted(glob(f"{escape(word)}*.jsonl"))  # noqa: PTH207 (pathlib would change what was typed: ./a)
    if files or word:
        return files
    from poolsize.sweep.options import RUN_FOLDER

    return sorted(glob(f"{RUN_FOLDER}/*.jsonl"))  # noqa: PTH207


complete_files = completed_by(lambda _: (), else_files=True)
complete_runs = completed_by(_runs, else_files=True)


class FilePath(click.Path):
    """The type of an option for a path, which imports pathlib when an option is typed."""

    def coerce_path_result(self, value: Any) -> "Path":
        """Return the path of a text."""
        from pathlib import Path

        return Path(value)


FILE = FilePath()


def duration_option(
    *names: str, read: Callable[[str], float] = positive_milliseconds, **others: Any
) -> Callable[[Decorated], Decorated]:
    """Return click's option of these names, for a duration such as 15ms. others: as for click.option."""
    return click.option(*names, metavar="DURATION", callback=read_by(read), **others)


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
current_option = click.option(
    "--current", type=int, help="The pool size that you use today, to compare with the answer."
)


def _instance_class(text: str) -> "InstanceClass":
    from poolsize.facts.instance_class import read_instance_class  # its table is read for this option only

    return read_instance_class(text)


instance_class_option = click.option(
    "--instance-class",
    metavar="NAME",
    callback=read_by(_instance_class),
    help="Cloud instance class, in place of --cores, e.g. db.r6g.2xlarge. It gives the cores, and the default of "
    "max_connections where no option and no server gives it. For Amazon RDS, Aurora (write aurora:db.r6g.2xlarge), "
    "Google Cloud SQL and Azure Database for MySQL.",
)


def form_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with --why and --json, which give the parameter `form`: "short", "why" or "json"."""

    @wraps(command)
    def with_form(*, why: bool, as_json: bool, **others: Any) -> None:
        command(form="json" if as_json else "why" if why else "short", **others)

    why = "Print the evidence too: reasons, tables and all cautions."
    return click.option("--why", is_flag=True, help=why)(json_option(with_form))


def plot_option(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with --plot, which refuses a file that can't be written before the command begins."""

    def checked(_: click.Context, parameter: click.Parameter, path: "Path | None") -> "Path | None":
        if path is not None:
            require_writable(parameter.opts[0], path, (".png", ".svg"), "a .png or an .svg file")
        return path

    return click.option(
        "--plot",
        type=FILE,
        metavar="FILE",
        callback=checked,
        help="Also write a plot to this .png or .svg file.",
    )(command)


def save_plot(figure: "Figure", path: "Path") -> None:
    """Write a figure to the file of --plot, and print that. Raises BadInput for a file that can't be written."""
    from poolsize.present.plots import save_figure

    _save(lambda: save_figure(figure, path), f"--plot {path}")
    click.echo(f"poolsize: drew {path}", err=True)


def save_page(text: str, path: "Path") -> None:
    """Write a page to the file of --output, and print that. Raises BadInput for a file that can't be written."""
    _save(lambda: path.write_text(text, encoding="utf-8"), f"--output {path}")
    click.echo(f"poolsize: wrote {path}", err=True)


def _save(write: Callable[[], object], option: str) -> None:
    try:
        write()
    except OSError as error:
        raise BadInput(f"{option} can't be written: {error.strerror}") from None


def require_writable(flag: str, path: "Path", endings: Sequence[str], expected: str) -> None:
    """Raise BadInput for another ending, a folder that does not exist, and a file that may not be written.

    expected: the end of the sentence "name ...".
    """
    if path.suffix not in endings:
        raise BadInput(f"{flag} {path}: name {expected}")
    if not path.parent.is_dir():
        raise BadInput(f"{flag} {path}: there is no folder {path.parent}; make it, or name a file elsewhere")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadInput(f"{flag} {path} can't be written: name another file")


def is_typed(name: str) -> bool:
    """Return whether this parameter's option was given on the command line, and not by the environment or a default."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def typed_words(*names: str) -> list[object]:
    """Return the options of these parameters as they were typed, for another command."""
    context = click.get_current_context()
    option_of = {option.name: option.opts[0] for option in context.command.params}
    typed = filter(is_typed, names)
    return [
        word for name in typed for word in (option_of[name], context.meta.get(f"{TEXT}{name}", context.params[name]))
    ]


def flag(name: str) -> str:
    """Return the flag of a parameter: --max-connections of max_connections."""
    return f"--{name.replace('_', '-')}"


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with --current, --max-p95 and --max-p99.

    The latter give the parameter `limits`: LatencyLimits; None if none is typed, for those that the run's sweep had.
    """

    @wraps(command)
    def with_limits(max_p95_ms: float | None, max_p99_ms: float | None, **others: Any) -> None:
        limits = None
        if (max_p95_ms, max_p99_ms) != (None, None):
            from poolsize.answer.latency_limit import LatencyLimits  # only a run's answer needs it

            limits = LatencyLimits(max_p95_ms, max_p99_ms)
        command(limits=limits, **others)

    for quantile, example in (("99", "50ms"), ("95", "20ms")):
        with_limits = duration_option(
            f"--max-p{quantile}",
            f"max_p{quantile}_ms",
            help=f"Latency limit: highest p{quantile} of the total time, e.g. {example}.  "
            "[default: the limit that the sweep had, if any]",
        )(with_limits)
    return current_option(with_limits)


class Encryption(QuickRecord):
    """The encryption that the options ask for; None for the URL's own. ca: path of an authority's certificate."""

    mode: SslMode | None
    ca: str | None

    def of(self, url: str | None) -> str | None:
        """Return the URL with this encryption; None where no server is asked. Raises BadInput."""
        if self.mode is None and not self.ca:
            return url
        if not url:
            typed = f"`ssl_mode` {self.mode}" if self.mode else f"`ssl_ca` {self.ca}"
            raise BadInput(f"{typed}: it also needs `url` (or POOLSIZE_URL)")
        from poolsize.server.connection import encrypted_url  # a formula starts without SQLAlchemy

        return encrypted_url(url, self.mode, self.ca)


def encryption_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with --ssl-mode and --ssl-ca, which give the parameter `encryption`: Encryption."""

    @wraps(command)
    def with_encryption(ssl_mode: SslMode | None, ssl_ca: str | None, **others: Any) -> None:
        command(encryption=Encryption(ssl_mode, ssl_ca), **others)

    ca, mode = f"{CA_HELP}  [default: {CA_DEFAULT}]", f"{MODE_HELP}  [default: {MODE_DEFAULT}]"
    with_ca = click.option("--ssl-ca", metavar="FILE", shell_complete=complete_files, help=ca)(with_encryption)
    return click.option("--ssl-mode", metavar="MODE", callback=read_by(read_ssl_mode), help=mode)(with_ca)


def inspected(url: str) -> "Inspection":
    """Return the facts of the server at a URL, read through its own connection. Raises BadInput and WorkFailed."""
    import pymysql

    from poolsize.facts.inspection import inspect_server
    from poolsize.server.connection import FACTS_SECONDS, asking, database_url
    from poolsize.server.encryption import is_local

    parts = database_url(url)
    with asking(parts, FACTS_SECONDS) as (connection, cursor):
        return inspect_server(
            cursor,
            connection.thread_id(),
            connection.get_server_info(),
            by_loopback=is_local(parts),
            denied=pymysql.MySQLError,
        )


def inspection_of(url: str | None, facts: dict[str, Any], encryption: Encryption) -> "Inspection | None":
    """Return the facts of the server whose URL is given, or that POOLSIZE_URL names where no cores are given.

    Set the facts that no option gives: the hit rate, and a local server's cores.
    """
    url = encryption.of(url or (os.environ.get("POOLSIZE_URL") if facts["cores"] is None else None))
    if not url:
        return None
    inspection = inspected(url)
    if facts["cache_hit_rate"] is None:
        facts["cache_hit_rate"] = inspection.cache_hit_rate
    if facts["cores"] is None and inspection.is_here:
        from poolsize.facts.machine import this_machine

        facts["cores"] = this_machine().usable_cores
    return inspection
