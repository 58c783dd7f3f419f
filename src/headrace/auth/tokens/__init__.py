"""Bearer tokens of OpenID providers: checked with the issuers' public keys, and read for what they grant."""
