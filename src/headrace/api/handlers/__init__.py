"""The handlers, one module per part of the API; each endpoint has everything about its route above it.

Subscriptions: `subscriptions`, `bulk` (import and export), `pull`, `consents` (of web hooks). Channels: `channels`,
`interest`. Filters and history: `filters`, `history`. Deliveries: `attempts`, `probes` (test sends). The service
itself: `access`, `discovery`, `health`, `openapi`. The handler of Knative's objects is in `controlplane`.
"""
