"""Authentication and authorization.

- `authentication.py` turns the headers of a request into a `principal.py`: by `keys/` (API keys) or `tokens/` (JWTs of
  OpenID providers).
- `roles.py` and `grants.py` say what a principal may do in which namespace; `quota_requests.py` parses quotas.
- `audit/` is the log of changes; `tables.py` and `migrations/` define its table and that of keys.
- `exposure.py` refuses to serve other machines without authentication.
"""
