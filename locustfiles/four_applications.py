"""The scans of four applications on the same table, each with 25 % of the users and its own pool."""

from typing import Any

import scan


class Shop(scan.Scan):
    """The application that makes the table."""

    pool_share = 0.25


class Search(Shop):
    """The second application, with another quarter of the connections."""

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Make no table: the shop's serves all."""


class Billing(Search):
    """The third application."""


class Mail(Search):
    """The fourth application."""
