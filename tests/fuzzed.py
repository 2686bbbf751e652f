"""The readers of foreign files that `tests.fuzz` tries, each with small valid files and what a right result is.

A reader gets an input and an empty folder, in which LAB_DATA and the like name folders, too. Where there are several
files, or checksums in a file, the input's first byte says which one the rest is, and whether checksums are made anew.
"""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

import lab
from lab import Spline
from lab.catalogue import bundle, verify
from lab.catalogue import league as users_league
from lab.catalogue import zoo as users_zoo
from lab.catalogue.bundle import CRATE, MANIFEST, manifest
from lab.catalogue.results import Results, read_note, sealed, with_note
from lab.cluster import connection
from lab.data import datasets, texts
from lab.data.convert import IDX
from lab.data.dataset import Archive
from lab.nonlinearity import document
from lab.nonlinearity.zoo import zoo, zoo_curves, zoo_names
from lab.store import Store

try:
    from distributed.deploy import Cluster
except ImportError:
    Cluster = object


class Reader(NamedTuple):
    read: Callable[[bytes, Path], object]
    seeds: Callable[[Path], list[bytes]]


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def table(rows=30):
    random = np.random.default_rng(0)
    x, y = random.normal(size=rows).round(3), np.arange(rows) % 3
    days = [f"2020-01-{1 + n % 28:02}" for n in range(rows)]
    return pd.DataFrame({"x": x, "town": ["Rome", "Oslo"] * (rows // 2), "day": days, "y": y})


def check_data(data):
    X = data.inputs if isinstance(data.inputs, torch.Tensor) else next(iter(data.inputs.values()))
    assert len(X) == len(data.targets) and (not X.is_floating_point() or bool(X.isfinite().all()))
    rows = torch.cat(list(data.rows.values()))
    assert len(rows.unique()) == len(rows) and "train" in data.rows and repr(data)


def of_table(ending):
    def read(data, folder):
        check_data(lab.Data.read(put(folder / f"a{ending}", data), target="y"))

    return read


def csv_seeds(_):
    text = table().to_csv(index=False)
    values = table().assign(y=lambda t: t["x"] * 2.5).to_csv(index=False)
    german = table().to_csv(index=False, sep=";", decimal=",")
    return [text.encode(), values.encode(), german.encode("cp1252"), text.encode("utf-16"), text.encode("utf-8-sig")]


def parquet_seeds(_):
    made = []
    for kind in ("snappy", None):
        file = io.BytesIO()
        table().to_parquet(file, compression=kind)
        made.append(file.getvalue())
    return made


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def npz_seeds(_):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(20, 2)).astype(np.float32), np.arange(20) % 2
    stored = io.BytesIO()
    np.savez(stored, X=X, y=y)
    return [npz(X=X, y=y), stored.getvalue(), npz(a=X, b=y, y=X[:, 0]), npz(X=X, y=np.array(["a", "b"] * 10))]


def of_catalogue(name, *files):
    """A data set in the folder LAB_DATA. files: by their names; None is the input."""

    def read(data, folder):
        for file, content in files:
            put(folder / "lab_data" / file, data if content is None else content)
        datasets.load(name)

    return read


def idx(*shape):
    return b"\0\0\x08" + bytes([len(shape)]) + np.array(shape, ">u4").tobytes() + bytes(int(np.prod(shape)))


def tar(mode="w", **files):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name.replace("__", "/").replace("_bin", ".bin").replace("_md", ".md"))
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def zipped(files, kind=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, kind)
    return file.getvalue()


BATCHES = {f"data_batch_{n}_bin": bytes(3073) for n in range(1, 6)} | {"test_batch_bin": bytes(3073)}
IMAGES = list(zip(IDX, (idx(2, 3, 3), idx(2), idx(2, 3, 3), idx(2)), strict=True))


def read_tar(data, folder):
    """CIFAR-10's, as it is or packed; or the archive of a package."""
    kind, data = data[:1], data[1:]
    if kind in (b"c", b"g"):
        content = gzip.compress(data, 1) if kind == b"g" else data
        put(folder / "lab_data" / f"cifar-10-binary.tar{'.gz' * (kind == b'g')}", content)
        datasets.load("cifar10")
    path = put(folder / "plays.tar.gz", data)
    Archive("pip", "plays", "1", "", ("plays/*.md",), None).unpack(path, 10_000)


def tar_seeds(_):
    plays = {"plays__a_md": b"To be", "plays__b_md": b"or not to be"}
    return [b"c" + tar(**BATCHES), b"g" + tar(**BATCHES)] + [
        b"p" + tar(f"w:{k}", **plays) for k in ("gz", "xz", "bz2", "")
    ]


def read_zip(data, folder):
    kind, data = data[:1], data[1:]
    name, file = {b"m": ("mnist", "mnist.zip"), b"j": ("code_search_net_java", "java.zip")}.get(
        kind, ("enwik8_clean", "enwik8.zip")
    )
    put(folder / "lab_data" / file, data)
    datasets.load(name)


def zip_seeds(_):
    lines = gzip.compress(b'{"code": "int f() { return 1; } // one"}\n')
    java = {f"java/final/jsonl/{part}/0.jsonl.gz": lines for part in ("train", "valid", "test")}
    page = b'<text xml:space="preserve">The [[cat|Cats]] of 1 {{box}} house</text>'
    kinds = (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2)
    return [b"m" + zipped(dict(IMAGES), kind) for kind in kinds] + [
        b"j" + zipped(java),
        b"w" + zipped({"enwik8": page}),
    ]


def read_gzip(data, folder):
    kind, data = data[:1], data[1:]
    if kind == b"i":
        of_catalogue("mnist", (f"{IDX[0]}.gz", None), *IMAGES[1:])(data, folder)
    if kind == b"r":
        assert len(Results(put(folder / "results/table.csv.gz", data).parent).table()) >= 0
        return
    check_data(lab.Data.read(put(folder / "a.csv.gz", data), target="y"))


def gzip_seeds(_):
    text = gzip.compress(table().to_csv(index=False).encode())
    return [b"i" + gzip.compress(IMAGES[0][1]), b"c" + text, b"r" + text, b"c" + text[:-8] + gzip.compress(b"")]


def shard(count):
    header = np.zeros(256, "<i4")
    header[:3] = 20240520, 1, count
    return header.tobytes() + np.arange(count, dtype="<u2").tobytes()


def read_shard(data, folder):
    kind, data = data[:1], data[1:]
    if kind == b"d":
        of_catalogue("fineweb_shard", ("fineweb_train_000001.bin", None), ("fineweb_val_000000.bin", shard(3)))(
            data, folder
        )
    tokens = texts.mapped_shard(put(folder / "a.bin", data))
    assert tokens.tobytes() == data[1024:]


def shape(kind, **more):
    return {"kind": kind, "low": -1.0, "high": 1.0, **more}


def spline_seeds(_):
    made = shape("linear spline", values=[0.0, 1.0, -0.5], dtype="float32", provenance={"key": "a", "task": "addmod"})
    gain = {"gain_end": 1.0, "low_end": 0.5, "high_end": 2.0, "measured": "accuracy on addmod", "unit": "points"}
    facts = {
        "key": "a",
        "task": "addmod",
        "scale": "laptop",
        "part": "mlp",
        "gain": gain,
        "versions": {"lab_commit": "ab"},
    }
    shipped = json.loads((lab.places.ZOO / "simplicity/addition-27.json").read_text(encoding="utf-8"))
    spec = shipped["provenance"].get("spec")
    several = [made, made | {"dtype": "float64", "values": [[0.0, 1e300], [1.0, -1.0]]}, made | {"provenance": facts}]
    several.append(made | {"provenance": facts | {"spec": spec}})
    documents = [json.dumps(one | {"schema": 1}).encode() for one in several]
    return [b"s" + one for one in documents] + [b"r" + one for one in documents]


def sealed_document(data):
    """The rest of an input; after an "s" with a checksum, where it is a JSON object."""
    kind, data = data[:1], data[1:]
    try:
        said = json.loads(data)
        if kind == b"s" and isinstance(said, dict):
            said.pop("sha256", None)
            return json.dumps(said | {"sha256": document.checksum(said)}).encode()
    except (ValueError, RecursionError):
        pass
    return data


def read_spline(data, folder):
    phi = Spline.load(put(folder / "phi.json", sealed_document(data)))
    phi.save(folder / "again.json")
    again = Spline.load(folder / "again.json")
    assert torch.equal(again.values.nan_to_num(7), phi.values.nan_to_num(7)) and (again.low, again.high) == (
        phi.low,
        phi.high,
    )
    assert phi(torch.zeros(phi.values.shape[0] if phi.values.ndim == 2 else 1, 1)).shape[-1] == 1
    repr(phi)


def read_zoo(data, folder):
    put(folder / "lab_zoo/phi.json", sealed_document(data))
    assert "mine/phi" in zoo_names()
    functions, problems = zoo_curves()
    assert ("mine/phi" in functions) != ("mine/phi" in problems)
    zoo("mine/phi")
    listed = users_zoo.table()  # of all functions, which takes a while
    assert "mine/phi" in listed.index and str(listed)


def read_league(data, folder):
    assert users_league.add(str(put(folder / "phi.json", sealed_document(data)))) == "mine/league/phi"
    assert [seed for _, seed in users_league.yours().values()]


def read_cluster(data, folder):
    made = connection._made(put(folder / "cluster.yaml", data))
    assert isinstance(made, Nothing) and made.asked >= 1


class Nothing(Cluster):
    """A cluster without workers."""

    def __init__(self, cores=1, **options):
        self.cores, self.asked = cores, 0

    def scale(self, n):
        self.asked = n

    def __del__(self):
        pass


def cluster_seeds(_):
    plain = f"class: {__name__}.Nothing\nworkers: 2\n"
    return [
        plain.encode(),
        f"{plain}options:\n  cores: 4\n  queue: normal\n".encode(),
        f"{plain}options: {{a: [1, &x 2, *x]}}".encode(),
    ]


def swapped_model():
    model = nn.Sequential(nn.Linear(1, 4), nn.GELU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    lab.swap(model, nn.GELU, Spline(torch.tensor([0.0, 1.0, 0.0]), -1.0, 1.0))
    lab.swap(model, nn.ReLU, "swish")
    return model


def swapped_seeds(folder):
    made = lab.save_swapped(swapped_model(), folder / "model")
    functions, weights = ((made / name).read_bytes() for name in ("functions.json", "swapped.safetensors"))
    said = json.loads(functions)
    several = [
        {"kind": "polynomial", "low": -1.0, "high": 1.0, "coefficients": [0.0, 1.0, 0.5], "basis": "power"},
        {"kind": "scaled", "phi": said["functions"][0]},
        said["functions"][0] | {"dim": 1, "shape": [4, 3]},
        {"kind": "named", "name": "swish", "functions": 4, "dim": 1},
    ]
    more = [json.dumps(said | {"functions": [one, said["functions"][1]]}).encode() for one in several]
    swapped_seeds.files = functions, weights
    return [b"s" + functions, b"r" + functions, b"w" + weights, *(b"s" + one for one in more)]


def read_swapped(data, folder):
    kind, (functions, weights) = data[:1], swapped_seeds.files
    put(folder / "functions.json", functions if kind == b"w" else sealed_document(data))
    put(folder / "swapped.safetensors", data[1:] if kind == b"w" else weights)
    plain = nn.Sequential(nn.Linear(1, 4), nn.GELU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    model = lab.load_swapped(plain, folder)
    assert sum(len(list(module.children())) == 0 for module in model.modules()) >= 5


def picture_seeds(_):
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (4, 4)).save(file, "png")
    results = lab.places.RESULTS / "transformers/fig11/laptop"
    said, _ = read_note(results / "figure.png")
    svg = b'<?xml version="1.0"?><svg width="8"><text>a</text></svg>'
    picture_seeds.bare = file.getvalue(), svg
    note = json.dumps(said).encode()
    return [b"P" + note, b"S" + note, *(b"r" + with_note(bare, said) for bare in picture_seeds.bare)]


def read_picture(data, folder):
    kind, data = data[:1], data[1:]
    try:
        said = json.loads(data) if kind in b"PS" and kind else None
        data = data if said is None else with_note(picture_seeds.bare[kind == b"S"], said)
    except (ValueError, TypeError, RecursionError):
        pass
    path = put(folder / "figure.png", data)
    said, whole = read_note(path)
    assert isinstance(whole, bool) and said["entry"]
    same, line = verify.verify(path)
    assert isinstance(same, bool) and len(line.splitlines()) == 1


def bundle_seeds(folder):
    from lab.catalogue.build import figure

    store = Store(folder / "store")
    made = figure("simplicity/fig30", "smoke", store=store, shipped=False, progress=False)
    bundle.write(made, folder / "figure.zip", store)
    with zipfile.ZipFile(folder / "figure.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    keep = sorted({name.split("/")[2] for name in files if name.startswith("store/runs/")})[0]
    files = {name: data for name, data in files.items() if not name.startswith("store/") or keep in name}
    bundle_seeds.files = files
    small = [name for name in files if name.endswith(("table.csv", "provenance.json", CRATE, "done.json", "spec.json"))]
    made = [bytes([sorted(files).index(name)]) + files[name] for name in small]
    return made + [b"\xff" + zipped({CRATE: files[CRATE]})]


def read_bundle(data, folder):
    path = put(folder / "figure.zip", data[1:])
    files = bundle_seeds.files
    if data[:1] != b"\xff" and data:
        name = sorted(files)[data[0] % len(files)]
        files = files | {name: data[1:]}
        (facts_of,) = (one for one in files if one.endswith("provenance.json"))
        try:
            facts = json.loads(files[facts_of])
            if name.endswith("table.csv"):
                facts["tables"]["table"] = sha256(data[1:]).hexdigest()
            files[facts_of] = sealed(facts)
        except (ValueError, AttributeError, TypeError, RecursionError):
            pass
        rest = {one: content for one, content in files.items() if one != MANIFEST}
        digests = manifest({one: sha256(content).hexdigest() for one, content in rest.items()})
        put(path, zipped(rest | {MANIFEST: files[MANIFEST] if name == MANIFEST else digests}))
    whole, line = bundle.verify(path)
    assert isinstance(whole, bool) and len(line.splitlines()) == 1
    assert bundle.open_figure(path).plot is not None


def comparison_seeds(_):
    rows = [
        f"{phi},{seed},{task},{0.5 + 0.01 * seed + 0.1 * (phi == 'gelu')}"
        for phi in ("relu", "gelu", "mish")
        for seed in range(4)
        for task in "ab"
    ]
    text = "\n".join(["phi,seed,task,accuracy", *rows]) + "\n"
    german = text.replace(",", ";").replace(".", ",")
    plain = "\n".join(row for row in text.split("\n") if ",b," not in row)
    return [b"p" + text.encode(), b"p" + german.encode(), b"a" + plain.encode()]


def read_comparison(data, folder):
    path = put(folder / "runs.csv", data[1:])
    pair_by = "task" if data[:1] == b"p" else None
    made = lab.Comparison.from_table(path, group="phi", seed="seed", metric="accuracy", pair_by=pair_by)
    assert len(repr(made)) > 20 and len(made.report(simultaneous=True)) > 20 and len(made.plot().data)
    for name in made.functions[1:]:
        one = made.difference(name)
        assert one.diverged or np.isnan(one.low) or one.low <= one.mean <= one.high


def read_text(data, folder):
    kind = "byte" if data[:1] == b"b" else "char"
    check_data(lab.Data.from_text(put(folder / "song.txt", data[1:]), tokens=kind, context=4))


def read_words(data, folder):
    """Texts of the catalogue: lines of JSON, tables of sentences, plain ones."""
    kind, data = data[:1], data[1:]
    if kind == b"j":
        name, files = "c4_shard", ("c4-train.00000-of-01024.json", "c4-validation.00000-of-00008.json")
    elif kind == b"t":
        name, files = "mrpc", ("MRPC_train.tsv", "MRPC_dev.tsv")
    elif kind == b"q":
        name, files = "wikitext-2", tuple(f"{part}-00000-of-00001.parquet" for part in ("train", "validation", "test"))
    else:
        name, files = "tinystories_train_2mb", ("tinystories_sample.txt",)
    of_catalogue(name, *((file, None) for file in files))(data, folder)


def words_seeds(_):
    file = io.BytesIO()
    pd.DataFrame({"text": ["Once", "upon", "a time"]}).to_parquet(file)
    table_ = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t1\t2\tone\ttwo\n0\t3\t4\tone\tthree\n"
    return [
        b"j" + b'{"text": "Once"}\n{"text": "upon"}\n',
        b"t" + table_.encode(),
        b"q" + file.getvalue(),
        b"p" + b"Once upon a time<|endoftext|>The end",
    ]


def matlab_seeds(_):
    from scipy.io import savemat

    made = []
    for packed in (True, False):
        file = io.BytesIO()
        X, y = np.zeros((32, 32, 3, 2), np.uint8)[:4, :4], np.ones((2, 1), np.uint8)
        savemat(file, {"X": X, "y": y}, do_compression=packed)
        made.append(file.getvalue())
    return made


def read_matlab(data, folder):
    of_catalogue("svhn", ("train_32x32.mat", None), ("test_32x32.mat", None))(data, folder)


def run_seeds(folder):
    store = Store(folder / "runs")
    lab.train("memorize", scale="smoke", seeds=1, store=store, progress=False)
    (path,) = store.results()
    run_seeds.name = path.name
    run_seeds.files = {file.name: file.read_bytes() for file in path.iterdir()}
    return [bytes([n]) + data[: 1 << 13] for n, (_, data) in enumerate(sorted(run_seeds.files.items()))]


def read_run(data, folder):
    """A result in a store, whose `done.json` says the digests of what is there."""
    files = dict(run_seeds.files)
    name = sorted(files)[data[0] % len(files)] if data else "done.json"
    files[name] = data[1:]
    if name != "done.json":
        done = json.loads(files["done.json"])
        done.pop("digest")
        done["files"][name] = sha256(data[1:]).hexdigest()
        files["done.json"] = json.dumps(done | {"digest": document_digest(done)}, sort_keys=True).encode()
    store = Store(folder / "lab_store")
    for file, content in files.items():
        put(folder / "lab_store/runs" / run_seeds.name / file, content)
    said = [*store.verify(), *store.foreign(), *map(str, store.results())]
    assert all(len(line.splitlines()) == 1 for line in said)
    spec, home = store.look_up(run_seeds.name[:12])
    home.load(spec)


def document_digest(done):
    return sha256(json.dumps(done, sort_keys=True).encode()).hexdigest()


READERS = {
    "csv": Reader(of_table(".csv"), csv_seeds),
    "table": Reader(read_comparison, comparison_seeds),
    "spline": Reader(read_spline, spline_seeds),
    "swapped": Reader(read_swapped, swapped_seeds),
    "npz": Reader(of_table(".npz"), npz_seeds),
    "picture": Reader(read_picture, picture_seeds),
    "cluster": Reader(read_cluster, cluster_seeds),
    "parquet": Reader(of_table(".parquet"), parquet_seeds),
    "bundle": Reader(read_bundle, bundle_seeds),
    "shard": Reader(read_shard, lambda _: [b"m" + shard(5), b"d" + shard(9)]),
    "idx": Reader(of_catalogue("mnist", (IDX[0], None), *IMAGES[1:]), lambda _: [content for _, content in IMAGES]),
    "tar": Reader(read_tar, tar_seeds),
    "zip": Reader(read_zip, zip_seeds),
    "gzip": Reader(read_gzip, gzip_seeds),
    "zoo": Reader(read_zoo, lambda folder: spline_seeds(folder)[:4]),
    "league": Reader(read_league, spline_seeds),
    "text": Reader(
        read_text, lambda _: [b"c" + b"la la li\n" * 20, b"b" + bytes(range(200)), b"c" + "žluťoučký 🐎".encode() * 9]
    ),
    "words": Reader(read_words, words_seeds),
    "matlab": Reader(read_matlab, matlab_seeds),
    "run": Reader(read_run, run_seeds),
}
