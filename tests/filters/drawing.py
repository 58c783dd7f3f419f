"""Generated examples by the hundred, for laws that are checked on all of them at once."""

from hypothesis import HealthCheck, Phase, given, settings


def drawn(strategy, count):
    """That many examples: the law is checked on all of them at once, so none can be made smaller."""
    examples = []

    @settings(
        max_examples=count, phases=[Phase.generate], database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def draw(example):
        examples.append(example)

    draw()
    return examples
