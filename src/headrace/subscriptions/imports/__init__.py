"""Many subscriptions at a time: lines of JSON, checked and stored in one transaction."""
