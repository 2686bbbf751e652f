"""A web server on this machine, with a certificate of its own: tests never go online, and data come over https."""

import functools
import http.server
import ssl
import subprocess
import threading

import pytest


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A folder's files; what it is asked is not printed."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    paths = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", paths[0], "-keyout", paths[1]]
    subprocess.run(command, check=True, capture_output=True)
    return paths


@pytest.fixture
def serve(certificate, monkeypatch):
    """A function that serves files with a request handler over https, and returns the address."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate[0]))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    serving = []

    def start(handler, secure=True):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        if secure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        serving.append((server, thread))
        return f"http{'s' if secure else ''}://127.0.0.1:{server.server_port}/"

    yield start
    for server, thread in serving:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server(tmp_path, serve):
    """A folder, and the address at which a web server gives out its files."""
    folder = tmp_path / "served"
    folder.mkdir()
    return folder, serve(functools.partial(Quiet, directory=folder))
