"""Statistics of series and latencies: intervals, percentiles, steady state, paired differences."""
