"""How a subscription is delivered: the delivery object and its members."""
