"""A captured workload as the tests need it: of sysbench, and of a shop with every kind of parameter."""

from typing import Any

from poolsize.capture.workload import (
    CapturedStatement,
    CapturedWorkload,
    CaptureSource,
    Constant,
    Heavy,
    HeavyValue,
    Parameter,
    Range,
    Reference,
    Sequence,
    Several,
    Text,
    Time,
    TransactionKind,
    Zipf,
)

SHOP_TABLES = """
CREATE TABLE customer (id INT AUTO_INCREMENT PRIMARY KEY, email VARCHAR(80) UNIQUE, name VARCHAR(80));
CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, customer_id INT, status VARCHAR(20), total DECIMAL(9,2),
    created DATETIME, KEY (customer_id));
CREATE TABLE audit (id INT PRIMARY KEY, order_id INT, note VARCHAR(80));
INSERT INTO customer SELECT seq, CONCAT('c', seq, '@shop.test'), CONCAT('name ', seq) FROM seq_1_to_500;
INSERT INTO orders SELECT seq, 1 + seq % 500, IF(seq % 5, 'paid', 'open'), seq / 7, NOW() - INTERVAL seq MINUTE
    FROM seq_1_to_2000
"""
"""Statements that make the shop's tables on MariaDB."""


def statement(text: str, *parameters: Parameter, **others: Any) -> CapturedStatement:
    """A statement that runs once and reads, unless the others say more."""
    reads = text.startswith("SELECT")
    known: dict[str, Any] = {
        "repeats": (1, 1),
        "repeats_mean": 1.0,
        "rows_sent_mean": 1.0 if reads else None,
        "reads": reads,
    }
    return CapturedStatement(text, parameters, **(known | others))


def kind(name: str, weight: int, *statements: CapturedStatement, **others: Any) -> TransactionKind:
    """A kind of transaction that autocommits, unless it has several statements."""
    known: dict[str, Any] = {
        "mean_ms": 1.0, "held_ms": None, "is_explicit": len(statements) > 1, "ends": "commit",
        "writes": not all(part.reads for part in statements),
    }  # fmt: skip
    return TransactionKind(name, weight, statements, **(known | others))


def of_row(name: str) -> Zipf:
    return Zipf(1, 500, 0.9, "scattered", table="customer", column=name)


STATUS = Heavy(
    (
        HeavyValue(0.7), HeavyValue(0.2), HeavyValue(0.05, "NULL"),
    ),
    Text(4, 9, "letters", 5), table="orders", column="status",
)  # fmt: skip
BROWSE = kind(
    "browse", 700,
    statement("SELECT id, name FROM customer WHERE email = %s",
              Text(8, 20, "email", 400, 0.5, table="customer", column="email")),
    statement("SELECT id, total FROM orders WHERE customer_id = %s AND status = %s ORDER BY id DESC LIMIT %s",
              of_row("id"), STATUS, Constant("10", table="orders"), repeats=(1, 4), repeats_mean=1.7),
    statement("SELECT COUNT(*) FROM orders WHERE customer_id = %s AND created > %s",
              Reference("parameter", 1, 0), Time((0, 3_600, 86_400), "datetime", table="orders", column="created")),
    mean_ms=2.5, held_ms=14.0,
)  # fmt: skip
SEARCH = kind(
    "search", 200,
    statement("SELECT id FROM customer WHERE name LIKE %s AND id %% 2 = 0",
              Text(2, 6, "letters", 900, begins="%", ends="%", table="customer", column="name")),
    statement("SELECT id, total FROM orders WHERE id IN %s", Several(Range((1, 2_000)), 1, 20, 4.5)),
    mean_ms=6.0, is_explicit=False,
)  # fmt: skip
BUY = kind(
    "buy", 100,
    statement("INSERT INTO orders (customer_id, status, total, created) VALUES (%s, %s, %s, NOW())",
              Range((1, 500), distinct=200, column="customer_id"), STATUS, Range((100, 900, 250_000), 2)),
    statement("INSERT INTO audit (id, order_id, note) VALUES (%s, %s, %s)",
              Sequence(12_000, table="audit", column="id"), Reference("inserted", 0),
              Text(5, 30, "alphanumeric", 100, table="audit", column="note"), rows=(1, 3), rows_mean=1.4),
    statement("UPDATE orders SET status = %s WHERE id BETWEEN %s AND %s",
              Constant("NULL"), Range((1, 2_000), column="id"), Reference("parameter", 2, 1, low=0, high=2)),
    mean_ms=4.0, held_ms=9.0,
)  # fmt: skip
SHOP = CapturedWorkload(
    CaptureSource("slow log", "MariaDB 10.11.6", "2026-11-27T09:00:00+00:00", "2026-11-27T10:00:00+00:00", 2_900),
    (BROWSE, SEARCH, BUY), 0.02, 0.01, 12.5, 180.0, ("The log has no rows sent.",),
)  # fmt: skip
