"""Background work of the roles: archiving, retention and clean-up."""
