"""Other engines on the same rules and events. None is a dependency: they are fetched when they are asked for."""
