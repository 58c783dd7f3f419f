"""Bearer tokens of OpenID providers: `issuer_keys.py` fetches public keys, `token.py` verifies tokens with them."""
