"""The versions of the tables of `ledger/`, one script each; CONTRIBUTING tells how to add one."""
