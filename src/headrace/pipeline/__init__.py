"""The Spark jobs: `route` takes every accepted event to the outbox of each subscription that wants it."""
