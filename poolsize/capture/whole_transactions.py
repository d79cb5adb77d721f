"""The statements of one session in a history that has gaps -> the transactions that were seen from begin to end."""

from poolsize.capture.history_session import Row

BEGIN, ENDS = "begin", {"commit", "rollback"}
MOST_PENDING = 2_000
"""The most statements of a transaction; longer ones are left out."""
MOST_UNSURE = 50
"""After a gap, so many statements without COMMIT or ROLLBACK are no transaction."""


def verb(row: Row) -> str:
    """Return what a statement does: "begin", "commit", "rollback", "select", ..."""
    if row.name.startswith("statement/sql/"):
        return row.name.removeprefix("statement/sql/")
    words = (row.text or b"").split(None, 1) or [b""]  # of a prepared statement
    word = words[0].lower().decode("ascii", "replace").rstrip(";")
    return BEGIN if word == "start" else word


class NestedStatements:
    """Tells transactions apart by the event of the transaction in which the server ran each statement.

    The statement that begins a transaction runs before that event: BEGIN, or any other with autocommit = 0.
    """

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._transaction: int | None = None
        self._is_whole = True

    def add(self, row: Row) -> list[Row]:
        """Return the statements of a transaction, or the statement outside of one, which this statement follows."""
        before: list[Row] = []
        last = self._rows[-1] if self._rows else None
        if row.transaction is None or row.transaction != self._transaction:
            begins = last is not None and row.transaction is not None and last.event < row.transaction <= last.end_event
            self._rows = self._rows[:-1] if begins else self._rows
            before = self.take()
            self._rows = [last] if begins and last else []
            self._transaction, self._is_whole = row.transaction, begins or row.transaction is None
        if len(self._rows) < MOST_PENDING:
            self._rows.append(row)
        else:
            self._is_whole = False
        return before

    def take(self) -> list[Row]:
        """Return the statements that wait, if they are whole, and wait for others."""
        rows = self._rows if self._is_whole else []
        self._rows, self._transaction, self._is_whole = [], None, True
        return rows

    def gap(self) -> list[Row]:
        """Return a transaction that ended before a gap. A statement that waits may have begun another."""
        self._is_whole = self._is_whole and self._is_ended()
        return self.take()

    def last(self) -> list[Row]:
        """Return the statements that are whole at the end of the history."""
        self._is_whole = self._is_whole and (self._transaction is None or self._is_ended())
        return self.take()

    def _is_ended(self) -> bool:
        return bool(self._rows) and verb(self._rows[-1]) in ENDS


class OrderedStatements:
    """Tells transactions apart by their BEGIN and COMMIT, where the server does not say in which a statement ran.

    After a gap, statements wait for a COMMIT: then they are the end of a transaction, and left out.
    """

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._is_open = self._is_sure = self._has_transactions = False

    def add(self, row: Row) -> list[Row]:
        """Return the statements of a transaction that this statement ends, or those that are outside of one."""
        before: list[Row] = []
        if verb(row) == BEGIN:
            before = self.take()
            self._is_open = self._has_transactions = True
        if len(self._rows) == MOST_PENDING:
            self.gap()
        self._rows.append(row)
        if verb(row) in ENDS:
            self._has_transactions = True
            is_whole, rows = self._is_open or self._is_sure, self.take()
            return rows if is_whole else []
        if self._is_open or (not self._is_sure and len(self._rows) < MOST_UNSURE):
            return before
        return before + self.take()

    def take(self) -> list[Row]:
        """Return the statements that wait, and wait for others."""
        rows, self._rows, self._is_open, self._is_sure = self._rows, [], False, True
        return rows

    def gap(self) -> list[Row]:
        """Return what waits, unless it may be a part of a transaction."""
        rows, self._is_sure = self.last(), False
        return rows

    def last(self) -> list[Row]:
        """Return what waits at the end of the history, unless it may be a part of a transaction."""
        is_part = self._is_open or (self._has_transactions and not self._is_sure)
        rows = self.take()
        return [] if is_part else rows
