"""From the outbox, the replays and the store into the subscription queues and mailboxes."""
