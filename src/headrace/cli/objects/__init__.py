"""Commands that list, apply, delete, import and export."""
