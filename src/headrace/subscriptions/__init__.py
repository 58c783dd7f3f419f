"""Who wants events, which ones, and where to: channels, subscriptions and the store that keeps them."""
