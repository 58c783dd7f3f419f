"""The audit log: who changed what, when, from where, and with which outcome."""
