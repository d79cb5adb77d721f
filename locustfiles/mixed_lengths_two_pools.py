"""The transactions of mixed_lengths through a pool for the short and a pool for the long transactions."""

import mixed_lengths


class Lookup(mixed_lengths.Lookup):
    """Three quarters of the users, with half of the connections."""

    pool_share = 0.5


class Report(mixed_lengths.Report):
    """A quarter of the users, with the other half."""

    pool_share = 0.5
