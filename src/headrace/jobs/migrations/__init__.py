"""The versions of the tables of `jobs/`, one script each; CONTRIBUTING tells how to add one."""
