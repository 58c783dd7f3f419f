"""Commands for the past: seek, replay, backtest, and the jobs they start."""
