"""Users of the task service: they create tasks and list the newest."""

from locust import FastHttpUser, task


class TaskUser(FastHttpUser):
    """Creates three tasks for each time that it lists the newest."""

    @task(3)
    def create(self) -> None:
        """Create a task."""
        self.client.post("/tasks")

    @task
    def newest(self) -> None:
        """List the newest tasks."""
        self.client.get("/tasks")
