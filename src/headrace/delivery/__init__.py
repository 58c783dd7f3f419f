"""From the outbox to the sink: at least once, and one dead sink harms nobody."""
