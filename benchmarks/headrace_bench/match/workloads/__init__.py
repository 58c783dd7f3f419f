"""What the matcher is measured on: rules and events, generated from a seed."""
