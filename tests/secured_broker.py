"""A Kafka broker that also listens with SASL, with TLS and with both, and that knows rights."""

import base64
import json
import time
from pathlib import Path

import trustme
from confluent_kafka import admin
from cryptography.hazmat.primitives import serialization
from tests.broker import Broker

from headrace.service.processes.service import free_port

USER, PASSWORD = "alice", "s3cret, with = and ,"
_MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
_MODULE = "org.apache.kafka.common.security"
_PROPERTIES = """
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,SSL:SSL,BOTH:SASL_SSL,ELSEWHERE:PLAINTEXT
ssl.keystore.type=PEM
ssl.keystore.location={folder}/key-and-chain.pem
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS
"""
_LOGIN = """
listener.name.{name}.sasl.enabled.mechanisms={mechanisms}
listener.name.{name}.plain.sasl.jaas.config={module}.plain.PlainLoginModule required user_{user}="{password}";
listener.name.{name}.scram-sha-256.sasl.jaas.config={module}.scram.ScramLoginModule required;
listener.name.{name}.scram-sha-512.sasl.jaas.config={module}.scram.ScramLoginModule required;
listener.name.{name}.oauthbearer.sasl.jaas.config={module}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
"""


class SecuredBroker(Broker):
    """`bootstrap` asks for nothing; the other listeners ask for `USER` and `PASSWORD`, for TLS, or for both.

    Whoever comes in by `elsewhere` is told that the broker is at an address that no guard lets through.
    """

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.ca_file = str(folder / "ca.pem")
        authority.cert_pem.write_to_path(self.ca_file)
        _write_key(authority.issue_cert("127.0.0.1", "localhost"), folder / "key-and-chain.pem")
        self.sasl, self.ssl, self.both, self.elsewhere = (free_port() for _ in range(4))
        ports = {"SASL": self.sasl, "SSL": self.ssl, "BOTH": self.both}
        listeners = "".join(f",{name}://127.0.0.1:{port}" for name, port in ports.items())
        properties = _PROPERTIES.format(folder=folder) + "".join(
            _LOGIN.format(name=name, mechanisms=_MECHANISMS, module=_MODULE, user=USER, password=PASSWORD)
            for name in ("sasl", "both")
        )
        super().__init__(folder, listeners, properties)
        text = self._file.read_text()
        for line in text.splitlines():
            if line.startswith("listeners="):
                text = text.replace(line, f"{line},ELSEWHERE://127.0.0.1:{self.elsewhere}")
            elif line.startswith("advertised.listeners="):
                text = text.replace(line, f"{line},ELSEWHERE://10.255.255.1:9092")
        self._file.write_text(text)

    def start(self) -> None:
        super().start()
        self._wait()

    def administrator(self) -> admin.AdminClient:
        return admin.AdminClient({"bootstrap.servers": self.bootstrap})

    def add_scram_users(self) -> None:
        for mechanism in (admin.ScramMechanism.SCRAM_SHA_256, admin.ScramMechanism.SCRAM_SHA_512):
            wanted = admin.UserScramCredentialUpsertion(
                USER, admin.ScramCredentialInfo(mechanism, 4096), PASSWORD.encode()
            )
            client = self.administrator()  # its answers end with it
            for done in client.alter_user_scram_credentials([wanted]).values():
                done.result(30)

    def new_topic(self, name: str, **config: str) -> None:
        topic = admin.NewTopic(name, num_partitions=2, replication_factor=1, config=config)
        client = self.administrator()
        client.create_topics([topic])[name].result(30)

    def forbid(self, topic: str) -> None:
        rule = admin.AclBinding(
            admin.ResourceType.TOPIC,
            topic,
            admin.ResourcePatternType.LITERAL,
            f"User:{USER}",
            "*",
            admin.AclOperation.ALL,
            admin.AclPermissionType.DENY,
        )
        client = self.administrator()
        for done in client.create_acls([rule]).values():
            done.result(30)

    def _wait(self) -> None:
        deadline = time.monotonic() + 60
        client = self.administrator()
        while not client.list_topics(timeout=30).brokers:
            assert time.monotonic() < deadline


def unsecured_token(subject: str) -> str:
    """A JSON web token without a signature, as the broker's default validator takes it."""
    now = time.time()
    parts = [{"alg": "none"}, {"sub": subject, "iat": now, "exp": now + 600}]
    return (
        ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
        + "."
    )


def _write_key(issued: trustme.LeafCert, path: Path) -> None:
    """Java reads keys in PKCS #8 only."""
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(text + b"".join(each.bytes() for each in issued.cert_chain_pems))
