"""From objects to channels and subscriptions: one file per kind, each with the same three functions.

`references` lists the objects that an object names, `act` brings the store to what it asks for, and `observe` returns
its state. All are idempotent. `addressables.py` and `subscribers.py` have what kinds share, `table.py` has all kinds.
"""
