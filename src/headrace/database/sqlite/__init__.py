"""SQLite files: whether they are whole, whether they are the ones they were, and copies of them."""
