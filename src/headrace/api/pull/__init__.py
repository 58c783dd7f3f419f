"""What the pull handler needs: messages from mailboxes, cursors of consumers, server-sent events, and a notifier."""
