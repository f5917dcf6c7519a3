"""The version of this package, as the user agent says it."""

__version__ = "0.1.0"
