"""The Kubernetes operator: applies the HeadraceChannels of a cluster to Headrace, and writes their status back.

- `process.py` runs it; `handlers.py` is what kopf calls; `mirror.py` applies one object and makes its status.
- `cluster.py` calls the API server; `references.py` resolves references to other objects of the cluster.
- `webhook.py` and `review.py` validate objects before they are stored; `certificates.py` and `trust.py` secure that.
"""
