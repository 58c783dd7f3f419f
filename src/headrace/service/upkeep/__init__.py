"""What runs beside routing and delivery: archiving, retention and clean-up."""
