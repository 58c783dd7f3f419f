"""Sinks are strangers: the guard on connections, credentials, tokens and signatures."""
