"""One file per role; each has `run(config)`, which returns when the process is told to stop."""
