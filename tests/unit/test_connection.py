"""The names of database errors, and what a refused URL shows."""

import pymysql
import pytest

from poolsize.errors import BadInput
from poolsize.target.connection import database_url, error_kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (pymysql.err.OperationalError(1054, "Unknown column"), "mysql_1054_bad_field_error"),
        (pymysql.err.ProgrammingError(1146, "Table doesn't exist"), "mysql_1146_no_such_table"),
        (pymysql.err.OperationalError(1213, "Deadlock found"), "deadlock"),
        (pymysql.err.OperationalError(1040, "Too many connections"), "too_many_connections"),
        (pymysql.err.OperationalError(1203, "max_user_connections"), "too_many_connections"),
        (pymysql.err.OperationalError(2013, "Lost connection"), "server_gone"),
        (pymysql.err.OperationalError(4999, "no known number"), "mysql_4999"),
        (pymysql.err.InterfaceError("(0, '')"), "InterfaceError"),
        (KeyError("id"), "KeyError"),
    ],
)
def test_an_error_is_named_as_the_server_names_it(error: Exception, kind: str) -> None:
    assert error_kind(error) == kind


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://shop:hunter2@db/?password=hunter2",
        "mysql://shop:hunter2@2@db:3306/",
        "oracle://db:1521/?user=shop&password=hunter2",
        "hunter2",
    ],
)
def test_a_refused_url_shows_no_password(url: str) -> None:
    with pytest.raises(BadInput) as refused:
        database_url(url)
    assert "hunter2" not in str(refused.value)
