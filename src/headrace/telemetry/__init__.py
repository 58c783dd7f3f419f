"""What the service says about itself."""
