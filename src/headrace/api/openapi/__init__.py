"""The OpenAPI document of everything served: a file per door in `routes/`, shared parts in `components/`.

What code decides (protocols' settings, filters, delivery objects) is not written down a second time: `derived.py`
makes those schemas from the tables that the checks use.
"""
