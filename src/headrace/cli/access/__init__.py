"""Commands for keys, quotas, secrets and the record of changes."""
