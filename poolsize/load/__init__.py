"""The load of one worker in one step: its pool, the loops of its users, and the record of their transactions."""
