"""The archive: Parquet files on any file system, and the manifest that says which of them count."""
