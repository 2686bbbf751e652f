"""What comes from the web comes over https, is no larger than it may be, and is said in one line where it fails."""

import functools
import http.server

import pytest

from lab.data.download import SourceError, download
from tests.data.conftest import Quiet

MANY = 3_000_000


class Answers(Quiet):
    """A server of bad habits."""

    def do_GET(self):
        what = self.path.strip("/")
        if what.startswith("to/"):
            self.send_response(302)
            self.send_header("Location", what.removeprefix("to/"))
            self.end_headers()
        elif what == "endless":  # no length is stated
            self.send_response(200)
            self.end_headers()
            for _ in range(MANY // 1000):
                self.wfile.write(bytes(1000))
        elif what == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(bytes(500))
        elif what == "leave":
            self.close_connection = True
        else:
            self.send_response(200)
            self.send_header("Content-Length", "5" * 30 if what == "strange" else str(MANY))
            self.end_headers()
            self.wfile.write(bytes(MANY))


@pytest.fixture
def answers(serve, monkeypatch):
    monkeypatch.setattr(http.server.ThreadingHTTPServer, "handle_error", lambda *_: None)  # a client that leaves
    return serve(Answers)


def test_a_file_arrives_as_it_is(server):
    folder, address = server
    content = bytes(range(256)) * 3000
    (folder / "a file.gz").write_bytes(content)  # no archive: it is not touched
    assert download(address + "a file.gz", len(content)) == content
    with pytest.raises(SourceError, match="more than 1 MB, which is more than it can need"):
        download(address + "a file.gz", len(content) - 1)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("stated", "stated: more than 1 MB"),
        ("endless", "endless: more than 1 MB"),
        ("strange", "strange: more than 1 MB"),
        ("cut", r"cut: .*500 bytes read, 500 more expected"),
        ("leave", "cannot be reached"),
        ("to/http://127.0.0.1:9/x", "leads to an address without https, which is not used"),
        ("to/file:///etc/hosts", "leads to an address without https, which is not used"),
        ("to/https://", "https://127.0.0.1:.*: ."),
    ],
)
def test_what_a_server_does_wrong_is_one_line(answers, what, said):
    with pytest.raises(SourceError, match=said) as caught:
        download(answers + what, 1_000_000)
    assert str(caught.value).startswith(answers) and "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_no_plain_http(serve, tmp_path):
    asked = []

    class Noting(Quiet):
        def do_GET(self):
            asked.append(self.path)
            super().do_GET()

    address = serve(functools.partial(Noting, directory=tmp_path), secure=False)
    with pytest.raises(SourceError, match="only https is used"):
        download(address, 1000)
    assert asked == []


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(server, monkeypatch):
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    monkeypatch.setattr(http.server.ThreadingHTTPServer, "handle_error", lambda *_: None)
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    with pytest.raises(SourceError, match="the server's certificate is not trusted"):
        download(server[1], 1000)


def test_a_page_that_is_not_there_and_a_server_that_is_not_there(server):
    with pytest.raises(SourceError, match="absent.csv: the server answers 404 File not found"):
        download(server[1] + "absent.csv", 1000)
    with pytest.raises(SourceError, match="https://127.0.0.1:9/x: cannot be reached"):
        download("https://me:secret@127.0.0.1:9/x", 1000)
