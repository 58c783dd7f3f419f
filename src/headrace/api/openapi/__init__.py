"""The OpenAPI document: one file per handler in `routes/`, shared parts in `components/`.

What code decides (settings of protocols, filters, delivery objects) is not written down twice: `document.py` and
`subscription_schemas.py` derive those schemas from the tables that the checks use.
"""
