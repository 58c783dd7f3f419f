"""What the page says is so."""

import json
import re
from pathlib import Path

from headrace.filters import message

PAGE = (Path(__file__).parents[3] / "docs" / "filters" / "message.md").read_text()


def test_the_python_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 5
    exec("\n".join(blocks), {})


def test_the_json_is_read():
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    tree = message.from_json(json.loads(block)["message"])
    assert message.from_json(message.to_json(tree)) == tree


def test_the_table_of_cel():
    rows = re.findall(r"^\| `((?:property|event_time|publish_time)\(.*?)` \| `(.*)` \|$", PAGE, re.MULTILINE)
    assert len(rows) >= 10
    for asked, text in rows:
        assert message.to_cel(eval(asked, vars(message))) == text.replace(r"\|", "|")
