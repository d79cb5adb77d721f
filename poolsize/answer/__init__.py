"""What follows from an analysis, as records without sentences."""
