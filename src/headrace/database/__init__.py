"""The files of SQLite databases: whether they are whole, whether they are those that they were, and copies of them."""
