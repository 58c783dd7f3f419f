"""One entry is one line, whatever a sink answered."""

import io
import logging

import pytest

from headrace.telemetry.logs import LineFormatter


@pytest.fixture
def log():
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(LineFormatter("2026-01-01 %(levelname)s %(message)s"))
    logger = logging.getLogger("of a test")
    logger.addHandler(handler)
    yield logger, written
    logger.removeHandler(handler)


FORGED = "status 400: no\n2026-01-01 ERROR the disk is full\x1b[2K"


def test_an_answer_forges_no_line(log):
    logger, written = log
    logger.warning("gave up: %s", FORGED)
    assert written.getvalue() == (
        "2026-01-01 WARNING gave up: status 400: no\\n2026-01-01 ERROR the disk is full\\x1b[2K\n"
    )


def test_a_traceback_keeps_its_lines_and_forges_none(log):
    logger, written = log
    try:
        raise ValueError(FORGED)
    except ValueError:
        logger.exception("an attempt failed")
    first, *lines = written.getvalue().splitlines()
    assert first == "2026-01-01 ERROR an attempt failed"
    assert lines[0] == "    Traceback (most recent call last):"
    assert all(line.startswith("    ") for line in lines)
    assert "\x1b" not in written.getvalue()
