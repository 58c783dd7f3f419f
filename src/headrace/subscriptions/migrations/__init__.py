"""The versions of the tables of `subscriptions/`, one script each; CONTRIBUTING tells how to add one."""
