"""What others wrote commands no terminal and forges no line; JSON stays as it is."""

from headrace.cli.events.lines import described
from headrace.cli.tables import print_table
from headrace.events import Event

EVIL = "busy\n9  forged\x1b[2J\u202e"


def test_cells_are_lines(capsys):
    print_table(["id", "reason"], [["1", EVIL]])
    assert capsys.readouterr().out.splitlines()[1:] == ["1   busy\\n9  forged\\x1b[2J\\u202e"]


def test_events_are_a_line_and_data_below():
    attributes = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "subject": EVIL}
    event = Event(attributes, '{\n\t"a": "\x9b31m"}\r'.encode())
    assert described(event).splitlines() == [
        "id=1  source=/s  type=t  subject=busy\\n9  forged\\x1b[2J\\u202e",
        "    {",
        '            "a": "\\x9b31m"}\\r',
    ]
