"""The pools of Java that the survey times, and their versions."""

import re
from collections.abc import Mapping
from pathlib import Path

JAVA_FOLDER = Path(__file__).parent / "java"
"""The folder with the Java source and Maven's list of libraries."""
ARTIFACTS = {
    "HikariCP": "HikariCP",
    "druid": "Druid",
    "commons-dbcp2": "DBCP2",
    "c3p0": "c3p0",
    "tomcat-jdbc": "Tomcat JDBC",
}
"""Name in Maven -> name of the pool."""
DRIVER = "mysql-connector-j"


def java_versions() -> Mapping[str, str]:
    """Return the version of each pool by its name, and of the driver."""
    listed = re.findall(
        r"<artifactId>(.+)</artifactId>\s*<version>(.+)</version>", (JAVA_FOLDER / "pom.xml").read_text()
    )
    versions = dict(listed)
    return {name: versions[artifact] for artifact, name in (*ARTIFACTS.items(), (DRIVER, DRIVER))}
