"""How events travel over each protocol, one module per protocol."""
