"""Long work that users ask for: the API writes it down, the pipeline does it, and both meet in the database."""
