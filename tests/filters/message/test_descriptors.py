"""The descriptors made in Python, and the .proto files for everyone else, define the same messages."""

import re
from pathlib import Path

import pytest

from headrace.filters import message
from headrace.filters.message.descriptors import Version, file_descriptor

FOLDER = Path(message.__file__).parent
TYPES = {"string": 9, "uint64": 4, "int32": 5, "enum": 14, "message": 11}
LABELS = {"optional": 1, "required": 2, "repeated": 3}
FIELD = re.compile(r"(optional|required|repeated) (\w+) (\w+) = (\d+)(?: \[default = (\S+)\])?;")


def read_proto(text):
    """Lists of (message, enum, value, number) and (message, label, type, field, number, default)."""
    values, fields, scopes = [], [], []
    for line in re.sub(r"//.*", "", text).splitlines():
        if opened := re.search(r"(?:message|enum) (\w+) {", line):
            scopes.append(opened[1])
        elif "}" in line:
            scopes.pop()
        elif field := FIELD.search(line):
            label, kind, name, number, default = field.groups()
            fields.append((*scopes, label, kind, name, int(number), default or ""))
        elif value := re.search(r"(\w+) = (\d+);", line):
            values.append((*scopes, value[1], int(value[2])))
    return values, fields


def read_descriptor(file):
    values = [
        (each.name, enum.name, value.name, value.number)
        for each in file.message_type
        for enum in each.enum_type
        for value in enum.value
    ]
    names = {number: name for name, number in TYPES.items()}
    labels = {number: name for name, number in LABELS.items()}
    fields = [
        (
            each.name,
            labels[field.label],
            field.type_name.rsplit(".", 1)[-1] or names[field.type],
            field.name,
            field.number,
            field.default_value,
        )
        for each in file.message_type
        for field in each.field
    ]
    return values, fields


@pytest.mark.parametrize("version", Version)
def test_the_file_says_the_same(version):
    text = (FOLDER / f"filter_v{version.value}.proto").read_text()
    values, fields = read_descriptor(file_descriptor(version))
    assert sorted(read_proto(text)[0]) == sorted(values)
    assert sorted(read_proto(text)[1]) == sorted(fields)
    assert f"package {file_descriptor(version).package};" in text
    assert len(values) == {Version.FIRST_DRAFT: 26, Version.REVISED: 24}[version]
    assert len(fields) == 5 + 4 + 4 + 5
