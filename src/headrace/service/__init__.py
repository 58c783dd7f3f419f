"""Running Headrace: the roles as processes, and the supervisor that keeps them alive."""
