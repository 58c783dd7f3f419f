"""The operators, casts and functions of CloudEvents SQL on values, and the errors that they return beside a value."""
