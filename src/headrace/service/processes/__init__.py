"""The processes of a deployment: the supervisor, its children and their heartbeats."""
