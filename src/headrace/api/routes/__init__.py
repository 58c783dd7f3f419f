"""Routes: `route.py` declares everything about one, above its endpoint; `parameters.py` what addresses may say."""
