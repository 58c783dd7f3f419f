"""Certificates of the webhook, issued by an authority of our own that the API server is told to trust."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence

_VALID, _RENEWED_BEFORE = timedelta(days=365), timedelta(days=60)
_EARLIER = timedelta(minutes=5)  # for clocks that are slow


@dataclass(frozen=True, slots=True)
class Certificates:
    """In PEM: the authority's certificate, and the server's certificate and key. The authority's key is not kept."""

    authority: bytes
    certificate: bytes
    key: bytes

    def are_good_for(self, names: Sequence[str], now: datetime | None = None) -> bool:
        """Tell whether they are valid for these names, and for some time to come."""
        try:
            read = x509.load_pem_x509_certificate(self.certificate)
            shown = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (ValueError, x509.ExtensionNotFound):
            return False
        return (
            set(map(_name, names)) <= set(shown)
            and read.not_valid_after_utc - (now or datetime.now(UTC)) > _RENEWED_BEFORE
        )


def make_certificates(names: Sequence[str], now: datetime | None = None) -> Certificates:
    """Make an authority and a certificate for these names or addresses."""
    began = (now or datetime.now(UTC)) - _EARLIER
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "headrace-webhook-authority")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "headrace-webhook")])
    authority = (
        _builder(issuer, issuer, authority_key.public_key(), began)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, SHA256())
    )
    certificate = (
        _builder(subject, issuer, key.public_key(), began)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(list(map(_name, names))), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, SHA256())
    )
    return Certificates(
        authority.public_bytes(Encoding.PEM),
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, began: datetime
) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=key,
        serial_number=x509.random_serial_number(),
        not_valid_before=began,
        not_valid_after=began + _VALID,
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
