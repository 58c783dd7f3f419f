"""The versions of the tables of `controlplane/`, one script each; CONTRIBUTING tells how to add one."""
