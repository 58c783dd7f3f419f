"""The embedded outbox: one Arrow file per routed range, named by the log positions it covers.

The files are the truth, and they have to be contiguous. A position that no whole file covers though a later one is
covered is a hole: the reader stops before it and waits, and the writer routes it again from the log. `SETTLED` holds
the position from which on files are needed, so that files removed in good order leave no holes.
"""
