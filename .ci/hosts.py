"""Other people's pages, for tests/browser/test_modules.py: MyST's loader of widgets with React, and marimo.

Run as `python .ci/hosts.py`: they lie in out/hosts, which git ignores, and the tests use them where they are there.
"""

import io
import subprocess
import sys
import tarfile
import urllib.request
import venv
from hashlib import sha256
from pathlib import Path

HOSTS = Path(__file__).resolve().parents[1] / "out" / "hosts"
MARIMO = "marimo==0.25.2"
REGISTRY = "https://registry.npmjs.org"
PACKAGES = {  # of npm, by their SHA-256
    "@myst-theme/anywidget/-/anywidget-1.4.1": "92bd9c229f844f9c4494a13cbc22b7e0ef15ddeadcfc616f5ee2ede21c0ef2c8",
    "react/-/react-18.3.1": "8d9bed01a672e7eaf387942d781ad47c6a43089a30a0306060f9fd5ac7870347",
    "react-dom/-/react-dom-18.3.1": "031d4427a99f2f3f6cac18bbbf308594a67e4f47d10f4896fdec446505b040e0",
    "classnames/-/classnames-2.5.1": "6c9e10fc21a14499b74bfe1e8e8dd7a6152da02fb575c3ffd3cd71f67390ebf1",
}


def main() -> None:
    for name, digest in PACKAGES.items():
        with urllib.request.urlopen(f"{REGISTRY}/{name}.tgz", timeout=60) as answer:
            packed = answer.read()
        if sha256(packed).hexdigest() != digest:
            sys.exit(f"{name}: it is not what its checksum says")
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(HOSTS / name.split("/-/")[0].rsplit("/", 1)[-1], filter="data")
    venv.create(HOSTS / "marimo", with_pip=True)
    command = [HOSTS / "marimo" / "bin" / "pip", "install", "-q", MARIMO, "anywidget==0.11.0"]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
