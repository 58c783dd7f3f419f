"""The subscriptions that a batch is matched against, as files that workers map."""
