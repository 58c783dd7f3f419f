"""What the Subscriptions API shows beside a subscription and writes along with it."""
