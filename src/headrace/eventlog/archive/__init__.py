"""Events for the long term: Parquet files on any file system, and the manifest that says which of them count."""
