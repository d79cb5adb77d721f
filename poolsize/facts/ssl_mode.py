"""SslMode: whether a connection to the database must be encrypted, and whether the server must prove who it is."""

from enum import StrEnum

MODE_HELP = "Encryption of the connections (TLS): off, preferred, required, verify-ca or verify-identity."
MODE_DEFAULT = "required off this machine, preferred on it; verify-ca with an authority"
CA_HELP = "File with the certificate of the authority that signed the server's (PEM)."
CA_DEFAULT = "those that this machine trusts"
"""The help of the options of encryption, which several commands have."""


class SslMode(StrEnum):
    """Encryption of a connection, from none to the strictest; the values are written in URLs and options.

    preferred: encrypted where the server can. required: encrypted, by a server that may be any. verify-ca: its
    certificate is signed by the authority. verify-identity: and names the host of the URL.
    Source: MySQL 9 Reference Manual, "Command Options for Encrypted Connections", where "off" is DISABLED.
    """

    OFF = "off"
    PREFERRED = "preferred"
    REQUIRED = "required"
    VERIFY_CA = "verify-ca"
    VERIFY_IDENTITY = "verify-identity"

    @property
    def verifies(self) -> bool:
        """Whether the server's certificate must be signed by an authority that the client trusts."""
        return self in {SslMode.VERIFY_CA, SslMode.VERIFY_IDENTITY}


def read_ssl_mode(text: str) -> SslMode:
    """Return the mode of a text in any case; MySQL's own words, such as VERIFY_CA, mean the same. Raises ValueError."""
    word = text.strip().lower().replace("_", "-")
    try:
        return SslMode.OFF if word == "disabled" else SslMode(word)
    except ValueError:
        raise ValueError(f"give {', '.join(list(SslMode)[:-1])} or {SslMode.VERIFY_IDENTITY}") from None
