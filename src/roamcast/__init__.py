"""roamcast: publish/subscribe for networks that have no network."""

__version__ = "0.1.0"
