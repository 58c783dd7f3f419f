"""The HTTP API: channels take events in, everything else manages subscriptions and shows what became of events.

- `app.py` puts everything together; `problems.py` turns errors into answers.
- `handlers/` has one handler per part of the API; everything about a route is declared above its endpoint.
- `routes/` is how that is declared, and `answers/` what the answers look like.
- `ingress/` takes events: which channels there are, how fast they may come, and when they are refused.
- `access/` decides who may do what, and records changes.
- `requests/` reads requests and writes answers.
- `subscriptions/` and `pull/` have what their handlers need: status, filter notes; messages, cursors, streams.
- `openapi/` makes a document of the declarations.
"""
