"""The calls of the client, one module per part of the API; `Client` has all of them."""
