"""Who is asking, and what they may do: API keys, tokens of OpenID providers, roles, and the record of changes."""
