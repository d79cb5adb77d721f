"""The conversation between the master, which leads the sweep, and the workers, as kinds of Locust messages.

    master                                            worker
    CALIBRATE {private_url, schema}               ->  CALIBRATED {calibration}
    OPEN {shares, private_url, workload_sha256}   ->  OPENED {connection_ids}
    START {}                                      ->  SECOND {index, ...}, each second, until
    FINISH {first, last}                          ->  FINISHED {report}
                                                      FAILED {error}, at any time

Every message carries the number of its conversation. A conversation is a calibration or the measurement of a step.
Every message of a worker carries the worker's name. The master ignores workers that were not there when the step
began, and messages of other conversations: a worker that joins later, or was lost and comes back, does not count. The
master alone decides when a step ends, because it alone knows the load of all workers. The same messages pass within a
single process and between machines.
"""

CALIBRATE = "poolsize_calibrate"
CALIBRATED = "poolsize_calibrated"
OPEN = "poolsize_open"
OPENED = "poolsize_opened"
START = "poolsize_start"
SECOND = "poolsize_second"
FINISH = "poolsize_finish"
FINISHED = "poolsize_finished"
FAILED = "poolsize_failed"

ORDERS = (CALIBRATE, OPEN, START, FINISH)
"""Kinds that the master sends."""
REPLIES = (CALIBRATED, OPENED, SECOND, FINISHED, FAILED)
"""Kinds that a worker sends."""
