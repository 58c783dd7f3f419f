"""Every table that Headrace keeps comes from migrations, and what they make is what the code works with."""

import ast
import runpy
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from sqlalchemy import func, insert, inspect, select, text
from tests.opening import engine_of

import headrace
from headrace.config import load_config
from headrace.database.engine import connect_to
from headrace.database.migrations import migration_context
from headrace.errors import SchemaRefused
from headrace.service.storage.databases import FAMILIES, migrate, schema_versions

SOURCE = Path(headrace.__file__).parent


def test_no_family_is_forgotten():
    assert {family.scripts for family in FAMILIES.values()} == set(SOURCE.rglob("migrations"))


@pytest.mark.parametrize("name", FAMILIES)
def test_versions_are_numbered_without_gaps_and_each_follows_the_one_before(name):
    versions = FAMILIES[name].versions
    assert versions == tuple(f"{number:04}" for number in range(1, len(versions) + 1))
    before = None
    for script in sorted(FAMILIES[name].scripts.glob("v*.py")):
        found = {
            target.id: node.value.value
            for node in ast.parse(script.read_text()).body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        assert (found["revision"], found["down_revision"]) == (script.name[1:5], before)
        before = found["revision"]


@pytest.mark.parametrize("name", FAMILIES)
def test_migrations_make_what_the_code_works_with(database_url, name):
    family = FAMILIES[name]
    engine = engine_of(database_url, family)
    with engine.connect() as connection:
        assert compare_metadata(migration_context(connection, family), family.metadata) == []
        made = set(inspect(connection).get_table_names())
    engine.dispose()
    assert made == {*family.metadata.tables, family.version_table}


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_of_the_first_version_are_kept(database_url, name):
    """A row in every table, from before versions were kept; all texts are alike, so that they refer to one another."""
    family = FAMILIES[name]
    first = runpy.run_path(str(next(family.scripts.glob("v0001_*.py"))))["TABLES"]
    samples = {str: "x", int: 1, float: 1.0, bool: False, bytes: b"x"}
    engine = connect_to(database_url)
    with engine.begin() as connection:
        first.create_all(connection)
        for table in first.sorted_tables:
            row = {column.name: samples[column.type.python_type] for column in table.columns}
            connection.execute(insert(table).values(row))
    engine.dispose()
    engine = engine_of(database_url, family)
    with engine.connect() as connection:
        kept = {
            table: connection.execute(
                select(func.count()).select_from(family.metadata.tables[table])
            ).scalar()
            for table in first.tables.keys() & family.metadata.tables.keys()
        }
    engine.dispose()
    assert kept == dict.fromkeys(kept, 1)
    assert len(kept) > 0


def test_a_comparison_sees_what_is_missing(database_url):
    """Or the test above would say nothing."""
    family = FAMILIES["subscriptions"]
    engine = engine_of(database_url, family)
    with engine.begin() as connection:
        connection.execute(text("DROP INDEX ix_subscriptions_revision"))
        connection.execute(text("ALTER TABLE subscriptions DROP COLUMN ended"))
        found = compare_metadata(migration_context(connection, family), family.metadata)
    engine.dispose()
    assert sorted(each[0] for each in found) == ["add_column", "add_index"]


@pytest.fixture
def config(database_url):
    settings = {"HEADRACE_STORE_URL": database_url, "HEADRACE_DELIVERY_URL": database_url}
    return load_config(environment=settings)


def test_all_of_them_in_one_database(config, database_url):
    before = schema_versions(config)
    assert [each.family for each in before] == ["subscriptions", "jobs", "objects", "auth", "ledger"]
    assert not any(each.version for each in before)
    after = migrate(config)
    assert all(each.is_new for each in after)
    assert migrate(config) == after
    engine = connect_to(database_url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE jobs_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(SchemaRefused, match="'jobs'"):
        schema_versions(config)
