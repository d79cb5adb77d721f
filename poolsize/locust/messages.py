"""The conversation between the process that leads a sweep and the load processes, as kinds of Locust messages.

    leader                                load process
    CALIBRATE {private_url}           ->  CALIBRATED {worker, calibration}
    OPEN {shares, private_url, ...}   ->  OPENED {worker}
    START {think_seconds, rates}      ->  SECOND {worker, index, ...}, each second, until
    FINISH {first, last}              ->  FINISHED {worker, report}

All carry the number of the conversation, one for each step, and every answer may be {worker, error} instead. The
leader hears only the processes that the step began with, in this conversation: one that joins later, or that was lost
and comes back, says nothing that counts. The leader alone decides when a step ends, for it alone sees the whole load.
The same messages pass within a single process and between machines.
"""

CALIBRATE = "poolsize_calibrate"
CALIBRATED = "poolsize_calibrated"
OPEN = "poolsize_open"
OPENED = "poolsize_opened"
START = "poolsize_start"
SECOND = "poolsize_second"
FINISH = "poolsize_finish"
FINISHED = "poolsize_finished"
