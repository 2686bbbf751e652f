"""A figure as one file to send around: a ZIP with its tables, plot, pictures, provenance and runs, and checksums.

It is an RO-Crate (a folder with `ro-crate-metadata.json`, https://w3id.org/ro/crate/1.1), and `manifest-sha256.txt` has
the digest of every file. Unpacked, `results` is a folder for `lab scorecard --results`, and `store` one for LAB_STORE.
"""

import json
import lzma
import re
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import requires
from mimetypes import guess_type
from pathlib import Path, PurePosixPath

from lab.catalogue import registry
from lab.catalogue.build import check
from lab.catalogue.figure import Figure
from lab.catalogue.results import PROVENANCE, Results
from lab.catalogue.shipped import read
from lab.errors import ArgumentError, LabError, check_path
from lab.files import put
from lab.places import NAME, SHIPPED, VERSION
from lab.plots.caption import counted
from lab.scale import check_scale
from lab.store import Store
from lab.versions import version_of

FORMAT = 1  # of the bundle; a lab reads those up to its own
CRATE, MANIFEST, PINS = "ro-crate-metadata.json", "manifest-sha256.txt", "requirements.txt"
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)  # what a damaged ZIP may raise
UNREADABLE = (*DAMAGED, ValueError, LookupError, TypeError, AttributeError, RuntimeError)
MOST, TIMES = 4 * 2**30, 1_100  # bytes, unpacked; times its size: what deflate, with which bundles are packed, can do
LICENCE = "https://spdx.org/licenses/Apache-2.0"
TIME = (1980, 1, 1, 0, 0, 0)  # of all files in it: the same content gives the same bytes


def write(made: Figure, path: str | Path, store: Store | None = None) -> str:
    """Write a figure's bundle, and say what it has. Those of its runs and searches that are here are in it.

    Raises ArgumentError for a path that is no ZIP's, LabError where it cannot be written.
    """
    path = check_target(path)
    store = (store or Store()).lending(SHIPPED)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        made.write(folder / "results" / made.name / made.scale, page=False)
        keys = [*made.provenance["runs"], *made.provenance["searches"]]
        here = 0
        for key in keys:
            try:
                store.export(key, folder / "store")
                here += 1
            except LabError:  # of shipped results: trained elsewhere
                continue
        (folder / PINS).write_text(pins(), encoding="utf-8")
        files = {file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob("*")) if file.is_file()}
        crate = json.dumps(metadata(made, list(files)), indent=1, ensure_ascii=False).encode()
        digests = {name: sha256(file.read_bytes()).hexdigest() for name, file in files.items()}
        digests[CRATE] = sha256(crate).hexdigest()
        packed = folder / "bundle.zip"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, content in ((CRATE, crate), (MANIFEST, manifest(digests))):
                archive.writestr(zipfile.ZipInfo(name, TIME), content, zipfile.ZIP_DEFLATED)
            for name, file in files.items():
                archive.writestr(zipfile.ZipInfo(name, TIME), file.read_bytes(), zipfile.ZIP_DEFLATED)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            put(path, packed.read_bytes())
        except OSError as error:
            raise LabError(f"cannot write {path}: {error.strerror or error}; name another file") from error
    return f"{path}: {made.name}, scale {made.scale}: {len(digests)} files; {here} of {len(keys)} runs and searches"


def check_target(path: str | Path) -> Path:
    """The path, if a bundle can be written there."""
    path = check_path("bundle", path)
    if path.suffix.lower() != ".zip" or path.is_dir():
        raise ArgumentError(f"bundle={path}: give the name of a ZIP file, as {path.with_suffix('.zip')}")
    return path


def pins() -> str:
    """The packages that the lab names, at the versions that are installed, as pip reads them."""
    names = [re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in requires(NAME) or () if "extra ==" not in one]
    return "".join([f"{NAME}=={VERSION}\n", *(f"{name}=={version_of(name)}\n" for name in names)])


def manifest(digests: Mapping[str, str]) -> bytes:
    """Digests and names, a line each, as `sha256sum --check` reads them."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode()


def metadata(made: Figure, names: list[str]) -> dict:
    """What RO-Crate 1.1 says of a folder: what it is, who made it with what, and its files."""
    facts = made.provenance
    files = [{"@id": name, "@type": "File", "name": PurePosixPath(name).name} for name in names]
    for file in files:
        file["encodingFormat"] = guess_type(file["name"])[0] or "application/octet-stream"
    about = {"@id": CRATE, "@type": "CreativeWork", "about": {"@id": "./"}}
    about["conformsTo"] = {"@id": "https://w3id.org/ro/crate/1.1"}
    whole = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"{made.name}, scale {made.scale}",
        "description": made.short_caption,
        "datePublished": facts["made"][:10],
        "license": {"@id": LICENCE},
        "mentions": {"@id": "#made"},
        "hasPart": [{"@id": name} for name in names],
        "version": FORMAT,
    }
    versions = facts["versions"]
    lab = {"@id": "#lab", "@type": "SoftwareApplication", "name": NAME, "version": versions["lab"]}
    lab["softwareVersion"] = versions.get("lab_commit", versions["lab"])
    made_by = {"@id": "#made", "@type": "CreateAction", "instrument": {"@id": "#lab"}, "result": {"@id": "./"}}
    made_by |= {"endTime": facts["made"], "name": f"lab figure {made.name} --scale {made.scale}"}
    licence = {"@id": LICENCE, "@type": "CreativeWork", "name": "Apache License 2.0"}
    graph = [about, whole, lab, made_by, licence, *files]
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}


@contextmanager
def unpacked(path: str | Path) -> Iterator[Path]:
    """A folder with the content of a bundle, each file held to its checksum. Raises LabError where it is no bundle,
    is damaged, or is of a newer lab."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                _check(archive)
                archive.extractall(folder)
        except _Changed as error:
            raise LabError(f"{path} was changed or is damaged: {error}") from None
        except UNREADABLE as error:
            said = " ".join(str(getattr(error, "strerror", None) or error).split())
            raise LabError(f"{path} cannot be read as a bundle ({said})") from error
        try:
            yield Path(folder)
        except LabError as error:
            raise LabError(str(error).replace(f"{folder}/", f"{path}: ")) from error
        except UNREADABLE as error:
            said = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise LabError(f"{path}: its results do not fit this lab ({said}); it is of another version") from error


class _Changed(Exception):
    """A file of a bundle is not what its manifest says."""


def _check(archive: zipfile.ZipFile) -> None:
    infos = {info.filename: info for info in archive.infolist()}
    if MANIFEST not in infos or CRATE not in infos:
        raise ValueError(f"it has no {MANIFEST} and {CRATE}")
    most = min(MOST, TIMES * Path(archive.filename or "").stat().st_size)
    if len(infos) < len(archive.infolist()) or sum(info.file_size for info in infos.values()) > most:
        raise ValueError(f"it has a name twice, or unpacks to more than 4 GiB or {TIMES:,} times its size")
    crate = json.loads(archive.read(CRATE))
    (whole,) = (one for one in crate["@graph"] if one["@id"] == "./")
    if whole["version"] > FORMAT:
        raise ValueError(f"it is of a newer lab, format {whole['version']}; this one reads up to {FORMAT}")
    lines = archive.read(MANIFEST).decode().splitlines()
    digests = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    if wrong := (infos.keys() - {MANIFEST}) ^ digests.keys():
        raise _Changed(f"{min(wrong)} is in the archive or in its manifest alone")
    for name, digest in digests.items():
        if ".." in PurePosixPath(name).parts or name.startswith("/"):
            raise ValueError(f"a file leads out of its folder: {name}")
        try:
            content = archive.read(name)
        except DAMAGED as error:
            raise _Changed(str(error)) from error
        if sha256(content).hexdigest() != digest:
            raise _Changed(f"{name} does not have its SHA-256")


def _results(folder: Path) -> Results:
    (place,) = folder.glob(f"results/*/*/*/{PROVENANCE}")
    here = Results(place.parent)
    check(here.facts)
    if f"{here.facts['entry']}/{here.facts['scale']}" != place.parent.relative_to(folder / "results").as_posix():
        raise ValueError(f"{PROVENANCE} tells of {here.facts['entry']}, scale {here.facts['scale']}")
    check_scale(here.facts["scale"], registry.entry(here.facts["entry"]).scales)
    return here


def open_figure(path: str | Path) -> Figure:
    """The figure of a bundle, drawn anew from its tables; nothing is trained, and no store is asked."""
    with unpacked(path) as folder:
        here = _results(folder)
        entry = registry.entry(here.facts["entry"])
        return read(entry, here.facts["scale"], here)


def verify(path: str | Path) -> tuple[bool, str]:
    """Whether a bundle is whole: its files, tables and runs have their checksums, and its tables give its plot.

    Raises LabError where the file is no bundle, or none that this lab reads.
    """
    with unpacked(path) as folder:
        here = _results(folder)
        of = f"{path}: {here.facts['entry']}, scale {here.facts['scale']}"
        here.digests()
        store = Store(folder / "store")
        if damaged := store.verify():
            return False, f"{of}: {damaged[0]}"
        keys = {result.name for result in store.results()}
        if strange := keys - {*here.facts["runs"], *here.facts["searches"]}:
            return False, f"{of}: {min(strange)[:12]} is no run of its figure"
        made = read(registry.entry(here.facts["entry"]), here.facts["scale"], here)
        plot, drawn = (json.loads(text) for text in ((here.folder / "figure.json").read_bytes(), made.to_json()))
        numbers = f"{counted(len(here.files), 'table')} and {counted(len(keys), 'run')} are whole"
        if plot["data"] != drawn["data"]:
            return False, f"{of}: {numbers}, and this lab draws another plot from them"
        return True, f"{of}: {numbers}, and give its plot"
