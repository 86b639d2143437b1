"""A time stamp authority of RFC 3161 on loopback, which can be told to answer wrongly."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web
from asn1crypto import algos, cms, core, tsp
from asn1crypto import x509 as asn1_x509
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Change = Callable[[dict[str, Any]], None]


@dataclass
class Authority:
    """`change` alters what the authority says of a request before it signs; `answered` alters the bytes."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    root: x509.Certificate
    url: str = ""
    change: Change = field(default=lambda _: None)
    answered: Callable[[bytes], bytes] = field(default=lambda answer: answer)

    @staticmethod
    def make() -> Authority:
        root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        root = _certificate("root", root_key, "root", root_key, authority=True)
        return Authority(key, _certificate("tsa", key, "root", root_key, authority=False), root)

    def write_root(self, path: Path) -> Path:
        path.write_bytes(self.root.public_bytes(serialization.Encoding.PEM))
        return path

    def answer(self, body: bytes) -> bytes:
        request: Any = tsp.TimeStampReq.load(body).native
        said = {
            "version": "v1",
            "policy": "1.2.3.4.1",
            "message_imprint": {
                "hash_algorithm": {"algorithm": "sha256"},
                "hashed_message": request["message_imprint"]["hashed_message"],
            },
            "serial_number": secrets.randbits(63),
            "gen_time": datetime.now(UTC).replace(microsecond=0),
            "nonce": request["nonce"],
        }
        self.change(said)
        return self.answered(self._signed(tsp.TSTInfo(said).dump()))

    def _signed(self, info: bytes) -> bytes:
        certificate = asn1_x509.Certificate.load(self.certificate.public_bytes(serialization.Encoding.DER))
        sha256 = algos.DigestAlgorithm({"algorithm": "sha256"})
        identity = tsp.ESSCertIDv2({"cert_hash": hashlib.sha256(certificate.dump()).digest()})
        attributes = cms.CMSAttributes(
            [
                {"type": "content_type", "values": ["tst_info"]},
                {"type": "message_digest", "values": [hashlib.sha256(info).digest()]},
                {"type": "signing_certificate_v2", "values": [tsp.SigningCertificateV2({"certs": [identity]})]},
            ]
        )
        signer = cms.SignerInfo(
            {
                "version": "v1",
                "sid": cms.SignerIdentifier(
                    "issuer_and_serial_number",
                    {"issuer": certificate.issuer, "serial_number": certificate.serial_number},
                ),
                "digest_algorithm": sha256,
                "signed_attrs": attributes,
                "signature_algorithm": {"algorithm": "sha256_ecdsa"},
                "signature": self.key.sign(attributes.untag().dump(), ec.ECDSA(hashes.SHA256())),
            }
        )
        signed = cms.SignedData(
            {
                "version": "v3",
                "digest_algorithms": [sha256],
                "encap_content_info": {"content_type": "tst_info", "content": core.ParsableOctetString(info)},
                "certificates": [certificate],
                "signer_infos": [signer],
            }
        )
        token = cms.ContentInfo({"content_type": "signed_data", "content": signed})
        return tsp.TimeStampResp({"status": {"status": "granted"}, "time_stamp_token": token}).dump()


@asynccontextmanager
async def running(authority: Authority) -> AsyncIterator[Authority]:
    """Serve an authority on a free port of loopback."""

    async def handle(request: web.Request) -> web.Response:
        assert request.content_type == "application/timestamp-query"
        return web.Response(body=authority.answer(await request.read()), content_type="application/timestamp-reply")

    async with receiver(handle) as url:
        authority.url = url
        yield authority


@asynccontextmanager
async def receiver(handle: Callable[[web.Request], Any]) -> AsyncIterator[str]:
    """Serve a handler of POST on a free port of loopback, and yield its address."""
    application = web.Application()
    application.router.add_post("/", handle)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        assert runner.addresses
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    authority: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=not authority,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=authority,
                crl_sign=authority,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if not authority:
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
    return builder.sign(issuer_key, hashes.SHA256())
