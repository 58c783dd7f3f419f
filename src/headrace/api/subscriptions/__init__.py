"""What the subscriptions handlers need: status and filter notes to show, rows to store, and the API's capabilities."""
