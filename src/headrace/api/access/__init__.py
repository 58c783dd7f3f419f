"""Who is asking, what they may do, and the audit log of what they changed.

`permissions.py` is the table of all routes; `gate.py` enforces it before each endpoint; `access.py` is what an endpoint
asks about its caller; `resources.py`, `changes.py` and `recorder.py` write the audit log.
"""
