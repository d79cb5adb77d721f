"""The sweep: its options and plan, the decision what to measure next, the loop, the events, and the replay."""
