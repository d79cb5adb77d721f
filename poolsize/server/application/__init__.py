"""An application under test: its process, its pool size, its readiness."""
