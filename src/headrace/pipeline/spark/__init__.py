"""The Spark session and the Java runtime below it."""
