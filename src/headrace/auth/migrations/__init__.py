"""The versions of the tables of `auth/`, one script each; CONTRIBUTING tells how to add one."""
