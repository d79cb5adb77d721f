"""What a connection pool itself costs: pools of many libraries, timed with many users."""
