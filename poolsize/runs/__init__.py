"""What was asked for and what was measured, and the file that keeps both."""
