"""What the guarded connections rest on in aiokafka. A version in which one of these fails must be looked at by a person."""

import inspect

import aiokafka.client
import aiokafka.conn
import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection, OAuthAuthenticator

from headrace.delivery.protocols.kafka import connection


def source(of):
    return inspect.getsource(of)


def test_the_clients_way_to_connect_is_ours():
    assert aiokafka.client.create_conn is connection._create_connection


def test_the_client_connects_in_one_way_only():
    client = inspect.getsource(aiokafka.client)
    assert client.count("await create_conn(") == client.count("create_conn(") == 2
    for word in ("create_connection", "open_connection", "sock_connect", "AIOKafkaConnection("):
        assert word not in client


def test_it_asks_for_what_ours_takes():
    """The address first, and everything else by name."""
    parameters = list(inspect.signature(aiokafka.conn.create_conn).parameters.values())
    assert [each.name for each in parameters[:2]] == ["host", "port"]
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in parameters[2:])
    assert source(AIOKafkaClient._get_conn).count("await create_conn(") == 1


def test_a_connection_is_made_by_its_loop_and_authenticates_by_what_ours_replaces():
    connect = source(AIOKafkaConnection.connect)
    assert connect.count("loop.create_connection(") == 1
    assert "open_connection(" not in connect
    assert "self._create_reader_task()" in connect
    assert "authenticator_oauth" in source(AIOKafkaConnection._do_sasl_handshake)
    assert inspect.iscoroutinefunction(OAuthAuthenticator.step)


@pytest.mark.parametrize("name", ["_loop", "_reader", "_sasl_oauth_token_provider"])
def test_it_has_what_ours_reads(name):
    assert f"self.{name}" in source(AIOKafkaConnection)


def test_whoever_has_no_guard_connects_to_nobody():
    with pytest.raises(LookupError):
        connection.CONNECTOR.get()
