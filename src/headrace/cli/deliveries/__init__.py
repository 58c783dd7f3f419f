"""Commands for attempts, redrives and test-sends."""
