"""A rule as one line."""

from reprise_reader.refusal import Refused


def need(condition, refusal, message):
    """Raises Refused unless `condition` holds."""
    if not condition:
        raise Refused(refusal, message)
