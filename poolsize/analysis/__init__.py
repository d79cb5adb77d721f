"""Run -> Analysis: figures, fitted curve, plateau and bottleneck of a run; needs no server and recommends nothing."""
