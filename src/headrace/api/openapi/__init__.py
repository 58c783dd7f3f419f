"""The OpenAPI document, put together from the routes that a process serves.

`operation.py` are the parts that routes name, `components.py` makes schemas of types and lists the named ones, and
`subscription_schemas.py` and `request_schemas.py` derive the schemas of subscriptions from the table of protocols.
"""
