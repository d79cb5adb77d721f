"""The secret of a sweep, which its master and its workers know, and nobody else."""

import hmac
import os
import secrets
from dataclasses import dataclass, field

from poolsize.errors import BadInput

VARIABLE = "POOLSIZE_WORKER_SECRET"
"""The environment variable from which workers on other machines, and their master, take the secret."""
SHORTEST = 16
"""A shorter secret could be guessed by somebody who recorded the messages."""


@dataclass(frozen=True)
class SweepSecret:
    """The secret of a sweep. is_given: whether it comes from the environment; else it was drawn for this process."""

    text: str = field(repr=False)
    is_given: bool

    @classmethod
    def of_this_process(cls) -> "SweepSecret":
        """Return the secret in the environment, or a new secret. Raises BadInput for a secret that is too short."""
        given = os.environ.get(VARIABLE)
        if given and len(given) < SHORTEST:
            raise BadInput(
                f"{VARIABLE} has fewer than {SHORTEST} characters: set a longer secret (openssl rand -hex 16)"
            )
        return cls(given or secrets.token_urlsafe(24), is_given=bool(given))

    def key(self, purpose: str) -> bytes:
        """Return 32 bytes that follow from the secret, other bytes for each purpose."""
        return hmac.digest(os.fsencode(self.text), purpose.encode(), "sha256")

    @property
    def private_password(self) -> str:
        """The password of the private server's account, which forked workers need and no message carries."""
        return self.key("private server").hex()
