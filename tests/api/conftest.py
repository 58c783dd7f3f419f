import pytest
from tests.api.door import Door


@pytest.fixture
async def open_door(tmp_path):
    """Make a door with the settings the test wants."""
    doors: list[Door] = []

    def make(**settings):
        doors.append(Door(tmp_path / str(len(doors)), **settings))
        return doors[-1]

    yield make
    for door in doors:
        await door.close()


@pytest.fixture
async def door(open_door):
    return open_door()
