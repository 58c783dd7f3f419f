"""What matching tells about itself: counts, costs, and why a subscription sees an event or doesn't."""
