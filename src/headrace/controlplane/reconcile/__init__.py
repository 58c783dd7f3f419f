"""From objects to channels and subscriptions: one file per kind, each with the same three functions.

`references` lists what an object names, `act` brings the store to what the object asks for, and `observe` says how it
fares. All may be repeated at any time: each looks at what is there and changes what differs.
"""
