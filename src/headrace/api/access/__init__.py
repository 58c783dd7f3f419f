"""Who is asking, what they may do, and the record of what they changed."""
