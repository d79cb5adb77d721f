"""Who runs the server: a cloud's service, or a database that only speaks MySQL's protocol."""

from collections.abc import Mapping
from enum import StrEnum


class Platform(StrEnum):
    """The platforms that are recognised by their variables; the values are printed in JSON."""

    AURORA = "aurora"
    RDS = "rds"
    CLOUD_SQL = "cloud_sql"
    AZURE = "azure"
    TIDB = "tidb"
    VITESS = "vitess"
    PROXY = "proxy"


def platform_of(variables: Mapping[str, str], handshake: str) -> Platform | None:
    """Return the platform of a server, or None for a server of one's own.

    variables: server variable -> its value. handshake: the version that the server named when it was connected to. A
    proxy names a version of its own.
    """
    version, comment = variables.get("version", ""), variables.get("version_comment", "").lower()
    signs = {
        Platform.TIDB: "tidb" in version.lower(),
        Platform.VITESS: "vitess" in (version + handshake).lower(),
        Platform.AURORA: "aurora_version" in variables,
        Platform.RDS: variables.get("basedir", "").startswith("/rdsdbbin"),
        Platform.CLOUD_SQL: "google" in version + comment or any(name.startswith("cloudsql_") for name in variables),
        Platform.AZURE: "azure" in comment or "aad_auth_only" in variables,
        Platform.PROXY: handshake.removeprefix("5.5.5-").split("-")[0] != version.split("-")[0],
    }
    return next((platform for platform, shown in signs.items() if shown), None)
