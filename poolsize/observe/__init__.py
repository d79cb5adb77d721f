"""Size from production, without a load test: what pools and servers count is read, stored, and answered."""
