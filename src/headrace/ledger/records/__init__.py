"""What the API shows of deliveries: attempts, dead letters, status, test-sends and consents."""
