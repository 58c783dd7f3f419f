"""The expression tree that every filter language is turned into and every back end reads."""
