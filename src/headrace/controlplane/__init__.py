"""Knative's objects: checked, kept, turned into channels and subscriptions, and shown with how they fare."""
