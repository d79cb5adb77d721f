"""The load of one worker in one step: the pool, the loops of its users, and the record of their transactions."""
