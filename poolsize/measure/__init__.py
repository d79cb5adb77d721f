"""SweepPlan -> Steps: load on a real server through a real pool, measured without bias."""
