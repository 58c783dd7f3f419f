"""Packets against Paho's own reader and writer, and against the bytes of a hostile server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties, VariableByteIntegers

from headrace.delivery.protocols.mqtt import packets
from headrace.delivery.protocols.mqtt.packets import Malformed, Packet, Property, TooLong, Version

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


@given(
    st.none() | TEXTS, st.lists(st.tuples(TEXTS, TEXTS), max_size=5), st.none() | st.integers(0, 2**32 - 1)
)
def test_properties_are_what_paho_reads(content_type, user_properties, expiry):
    written = packets.publish_properties(content_type, user_properties, expiry)
    seen = Properties(PacketTypes.PUBLISH)
    assert seen.unpack(written)[1] == len(written)
    assert getattr(seen, "ContentType", None) == content_type
    assert getattr(seen, "UserProperty", []) == user_properties
    assert getattr(seen, "MessageExpiryInterval", None) == expiry


@given(st.integers(0, 268_435_455))
def test_lengths_are_those_of_paho(length):
    assert packets._length(length) == VariableByteIntegers.encode(length)


def test_what_a_server_says_is_read():
    said = Properties(PacketTypes.CONNACK)
    said.ReceiveMaximum, said.MaximumPacketSize, said.ReasonString = 7, 9, "grün"
    said.UserProperty = ("a", "b")
    said.AuthenticationData = b"\0\xff"
    answer = packets.read_connack(Version.V5, b"\0\x97" + said.pack())
    assert (answer.code, answer.reason) == (0x97, "grün")
    assert (answer.properties[Property.RECEIVE_MAXIMUM], answer.properties[Property.MAXIMUM_PACKET_SIZE]) == (
        7,
        9,
    )


@given(st.lists(st.integers(0, 300), max_size=6), st.integers(1, 50))
def test_packets_arrive_in_any_pieces(sizes, piece):
    sent = [bytes(size) for size in sizes]
    stream = b"".join(packets._packet(Packet.PUBACK, 0, body) for body in sent)
    buffer, seen = bytearray(), list[tuple[int, bytes]]()
    for start in range(0, len(stream), piece):
        buffer += stream[start : start + piece]
        seen += packets.take_packets(buffer)
    assert seen == [(Packet.PUBACK, body) for body in sent]
    assert not buffer


@given(st.binary(max_size=60), st.sampled_from(Version))
def test_nonsense_is_malformed_and_nothing_else(body, version):
    for read in (packets.read_connack, packets.read_acknowledgement):
        try:
            read(version, body)
        except Malformed:
            continue
    try:
        packets.read_disconnect(body)
        list(packets.take_packets(bytearray(body)))
    except Malformed:
        pass


def test_a_length_without_an_end():
    with pytest.raises(Malformed):
        list(packets.take_packets(bytearray(b"\x40\xff\xff\xff\xff")))
    assert list(packets.take_packets(bytearray(b"\x40\xff\xff"))) == []


def test_what_cannot_be_written():
    with pytest.raises(TooLong, match="65535"):
        packets.publish("x" * 65_536, 0, 0, b"", b"", retain=False)
    with pytest.raises(TooLong):
        packets._length(268_435_456)
