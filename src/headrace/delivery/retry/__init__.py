"""Deliveries that are made again: those that wait in the ledger, redrives and test-sends."""
