"""Backups of a deployment, and putting one back."""
