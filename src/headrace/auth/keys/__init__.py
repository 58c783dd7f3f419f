"""API keys: their form (`key`), new ones (`requests`), what is stored (`record`, `store`), and their check (`ring`)."""
