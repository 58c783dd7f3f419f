"""Who is asking, what they may do, and the audit log of what they changed.

`permissions.py` are the permissions that routes ask for; `gate.py` enforces them before each endpoint; `access.py` is
what an endpoint asks about its caller; `resources.py`, `changes.py` and `recorder.py` write the audit log.
"""
