"""A real Kubernetes API server over a real etcd, as `scripts/build-kube-apiserver` builds them."""

import os
import re
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from headrace.service.processes.service import free_port

_ROOT = Path(__file__).parents[3]
ADMIN = "admin-token"
OPERATOR = "operator-token"
_TOKENS = f"""{ADMIN},admin,1,system:masters
{OPERATOR},system:serviceaccount:headrace:headrace-operator,2,"system:serviceaccounts,system:authenticated"
"""


def programs() -> Path | None:
    """The folder of the programs, where they have been built."""
    pins = (_ROOT / "scripts" / "kube-apiserver" / "go.mod").read_text()
    version = re.search(r"k8s\.io/kubernetes v([0-9.]+)", pins)
    assert version
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "headrace" / f"kube-apiserver-{version[1]}"
    return folder if folder.is_dir() else None


class RealApiServer:
    """Its authorization is RBAC, so that the operator may do what its role in `deploy/` allows and nothing else."""

    is_real = True

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries, self._folder = binaries, folder
        self._port, self._etcd_port, self._peer_port = free_port(), free_port(), free_port()
        self.server = f"https://127.0.0.1:{self._port}"
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def ca(self) -> Path:
        return self._folder / "certs" / "apiserver.crt"

    def start(self) -> None:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        self._run(
            "etcd", "--data-dir", self._folder / "etcd", "--unsafe-no-fsync", "--log-level=error",
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
        )  # fmt: skip
        self._make_keys()
        (self._folder / "tokens.csv").write_text(_TOKENS)
        self._run(
            "kube-apiserver", f"--etcd-servers={client}", f"--secure-port={self._port}", "--bind-address=127.0.0.1",
            f"--cert-dir={self._folder / 'certs'}", f"--token-auth-file={self._folder / 'tokens.csv'}",
            "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._folder / 'sa.pub'}",
            f"--service-account-signing-key-file={self._folder / 'sa.key'}",
        )  # fmt: skip
        deadline = time.monotonic() + 90
        while not self._is_ready():
            assert all(each.poll() is None for each in self._processes), self._tail()
            assert time.monotonic() < deadline, self._tail()
            time.sleep(0.2)

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def _run(self, program, *arguments) -> None:
        with (self._folder / f"{program}.log").open("wb") as log:
            command = [str(self._binaries / program), *map(str, arguments)]
            self._processes.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder))

    def _make_keys(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        (self._folder / "sa.key").write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        )
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (self._folder / "sa.pub").write_bytes(public)

    def _is_ready(self) -> bool:
        if not self.ca.exists():
            return False
        try:
            context = ssl.create_default_context(cafile=str(self.ca))
            request = urllib.request.Request(
                self.server + "/readyz", headers={"authorization": f"Bearer {ADMIN}"}
            )
            urllib.request.urlopen(request, timeout=5, context=context).close()
        except (urllib.error.URLError, OSError):
            return False
        return True

    def _tail(self) -> str:
        return "\n".join(path.read_text(errors="replace")[-2000:] for path in self._folder.glob("*.log"))
