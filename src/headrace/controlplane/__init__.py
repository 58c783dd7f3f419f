"""Knative's objects: checked, stored, turned into channels and subscriptions, and shown with their status.

- `handler.py` is the HTTP API, `plane.py` the control plane behind it.
- `kinds.py`, `manifest.py`, `manifest_text.py` and `yaml_reader.py` read what was sent; `admission/` checks it.
- `objects.py`, `registry.py` and `tables.py` store objects; `conditions.py` and `documents.py` show them.
- `reconcile/` brings channels and subscriptions of the store, the `deployment.py`, to what objects ask for.
- `operator/` does the same for objects of a Kubernetes cluster.
"""
