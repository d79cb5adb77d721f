"""Who runs a server: by the variables that each service is known to have."""

import pytest

from poolsize.facts.inspection import Platform, platform_of
from poolsize.present.text.inspection import PLATFORMS

OWN = {"version": "8.4.6", "version_comment": "MySQL Community Server - GPL", "basedir": "/usr/"}


@pytest.mark.parametrize(
    ("different", "handshake", "platform"),
    [
        ({}, "8.4.6", None),
        ({"version": "10.11.14-MariaDB-0+deb12u2"}, "5.5.5-10.11.14-MariaDB-0+deb12u2", None),
        ({"version": "26.10.1"}, "26.10.1", None),
        ({"aurora_version": "3.10.0", "basedir": "/rdsdbbin/oscar-8.0.mysql_aurora.3.10.0/"}, "8.4.6", Platform.AURORA),
        ({"basedir": "/rdsdbbin/mysql-8.4.6.R1/"}, "8.4.6", Platform.RDS),
        ({"version": "8.4.6-google", "version_comment": "(Google)"}, "8.4.6-google", Platform.CLOUD_SQL),
        ({"aad_auth_only": "OFF"}, "8.4.6", Platform.AZURE),
        ({"version": "8.0.11-TiDB-v8.5.3", "version_comment": "TiDB Server"}, "8.0.11-TiDB-v8.5.3", Platform.TIDB),
        ({}, "8.0.30-Vitess", Platform.VITESS),
        ({}, "8.0.30", Platform.PROXY),
        ({}, "5.5.30 (ProxySQL)", Platform.PROXY),
    ],
)
def test_a_platform_is_known_by_its_variables(
    different: dict[str, str], handshake: str, platform: Platform | None
) -> None:
    assert platform_of(OWN | different, handshake) == platform


def test_every_platform_has_its_advice() -> None:
    assert PLATFORMS.keys() == set(Platform)
