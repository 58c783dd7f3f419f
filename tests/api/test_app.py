import pytest
from tests.api.handlers.test_channels import assert_problem


@pytest.mark.parametrize(
    "path", ["/subscriptions/a%00b", "/api/jobs/%00", "/api/objects/%00", "/api/channels/x/%00"]
)
async def test_no_name_has_the_character_zero(api, path):
    assert_problem(await api.call("GET", path.replace("%00", "\0")), 404, "not-found")


async def test_no_parameter_has_the_character_zero(api):
    problem = assert_problem(await api.call("GET", "/subscriptions?sink=a%00b"), 400, "invalid-request")
    assert problem["faults"] == [{"path": "sink", "problem": "contains the character U+0000"}]
