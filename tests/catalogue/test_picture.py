"""A picture knows where it is from, and one that was edited, relabelled, or has other numbers is reported."""

import gzip
import json
import re
import shutil
import struct
import zlib

import pandas as pd
import pytest

from lab.catalogue import results
from lab.catalogue.build import figure
from lab.catalogue.results import HEAD, Results, digests, note, read_note, sealed, split, with_note
from lab.catalogue.verify import differing, verify
from lab.cli import main
from lab.errors import LabError
from lab.places import RESULTS

NAME, SCALE = "transformers/fig11", "laptop"
SVG = b'<?xml version="1.0"?><svg width="8"><text>a < b</text></svg>'


@pytest.fixture
def png(tmp_path):
    return shutil.copyfile(RESULTS / NAME / SCALE / "figure.png", tmp_path / "figure.png")


def chunks(content):
    place = len(HEAD)
    while place < len(content):
        size = int.from_bytes(content[place : place + 4], "big")
        yield content[place + 4 : place + 8], content[place + 8 : place + 8 + size]
        place += size + 12


def joined(parts):
    made = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    return HEAD + b"".join(made)


def test_all_shipped_pictures_tell_of_their_results_and_are_as_they_were_drawn():
    pictures = sorted(RESULTS.glob("*/*/*/figure.png"))
    assert len(pictures) > 70
    for path in pictures:
        content = path.read_bytes()
        facts = dict(Results(path.parent).facts)
        facts.setdefault("tables", Results(path.parent).digests())
        assert read_note(path) == (note(facts), True), path
        assert len(content) - len(split(content)[0]) < 2000


def test_a_note_adds_a_valid_chunk_and_a_second_one_takes_its_place(png):
    from PIL import Image

    before = png.read_bytes()
    with Image.open(png) as image:
        image.load()
        assert json.loads(image.info["lab:figure"])["entry"] == NAME
    told, _ = read_note(png)
    assert with_note(before, told) == before
    assert joined(chunks(before)) == before, "checksums of chunks"


@pytest.mark.parametrize("content", [SVG, SVG.replace(b"<?xml", b"<!-- > --><?xml")])
def test_an_svg_keeps_its_note(tmp_path, png, content):
    path = tmp_path / "figure.svg"
    told = read_note(png)[0] | {"command": "lab figure <a> & 'b'"}
    path.write_bytes(with_note(content, told))
    assert read_note(path) == (told, True) and split(path.read_bytes())[0] == content
    path.write_bytes(path.read_bytes().replace(b"a < b", b"a > b"))
    assert read_note(path)[1] is False


def test_one_pixel_that_differs_is_reported(png, capsys):
    parts = list(chunks(png.read_bytes()))
    packed = b"".join(body for kind, body in parts if kind == b"IDAT")
    pixels = bytearray(zlib.decompress(packed))
    pixels[-1] ^= 1
    kept = [part for part in parts if part[0] not in (b"IDAT", b"IEND")]
    png.write_bytes(joined([*kept, (b"IDAT", zlib.compress(bytes(pixels))), (b"IEND", b"")]))
    with pytest.raises(SystemExit) as caught:
        main(["verify", str(png)])
    assert caught.value.code == 1 and "was changed after the lab drew it" in capsys.readouterr().out


def test_a_relabelled_picture_is_reported(png):
    content = png.read_bytes()
    for old, new in ((b'"transformers/fig11"', b'"transformers/fig12"'), (b'"laptop"', b'"paper!"')):
        png.write_bytes(content.replace(old, new, 1))
        same, said = verify(png)
        assert not same and "was changed" in said


def test_a_note_on_another_picture_is_reported(png):
    other = (RESULTS / "transformers/fig6/paper/figure.png").read_bytes()
    noted = [part for part in chunks(other) if part[0] == b"iTXt"]
    parts = [part for part in chunks(png.read_bytes()) if part[0] != b"iTXt"]
    png.write_bytes(joined([parts[0], *noted, *parts[1:]]))
    same, said = verify(png)
    assert not same and "was changed" in said and "fig6" in said


def test_a_picture_of_these_results_is_verified(png, capsys):
    main(["verify", str(png)])
    assert capsys.readouterr().out == f"{png}: {NAME}, scale {SCALE}: the same numbers\n"


def test_a_picture_of_other_numbers_says_how_many_cells_differ(png, tmp_path):
    shipped = Results(RESULTS / NAME / SCALE)
    table = shipped.table()
    column = table.select_dtypes("float").columns[0]
    table.loc[0, column] += 0.5
    tables = {name: gzip.decompress(path.read_bytes()) for name, path in shipped.files.items()}
    tables["table"] = table.to_csv(index=False).encode()
    facts = shipped.facts | {"tables": digests(tables)}
    png.write_bytes(with_note(png.read_bytes(), note(facts)))
    assert "other numbers (table); where its tables lie in its folder" in verify(png)[1]
    (tmp_path / "provenance.json").write_bytes(sealed(facts))
    for name, content in tables.items():
        (tmp_path / f"{name}.csv").write_bytes(content)
    same, said = verify(png)
    assert not same and f"1 of {table.size} cells differ, by at most 0.5" in said
    png.write_bytes(with_note(png.read_bytes(), note(facts | {"runs": {}, "seeds": [1, 2]})))
    assert "of other runs (2 seeds)" in verify(png)[1]


def test_tables_of_other_shape_or_words_differ():
    one = pd.DataFrame({"method": ["gelu", "relu"], "x": [1.0, float("nan")]})
    assert differing(one, one).startswith("0 of 4 cells")
    assert differing(one, one.assign(method="gelu")) == "1 of 4 cells differ, by at most 0"
    assert differing(one, one[:1]) == differing(one, None) == "other rows or columns"


def test_a_figure_that_was_drawn_is_made_again(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = read_note(RESULTS / NAME / SCALE / "figure.png")[0] | {"entry": "transformers/fig6", "scale": "smoke"}
    (tmp_path / "old.svg").write_bytes(with_note(SVG, told))
    monkeypatch.setattr("lab.catalogue.figure.export.images", lambda _: {"svg": SVG})
    main(["figure", "old.svg"])
    assert "old.svg shows transformers/fig6, scale smoke" in capsys.readouterr().err
    path = tmp_path / "out/transformers/fig6/smoke/figure.svg"
    assert read_note(path)[0]["tables"] == Results(path.parent).facts["tables"]
    assert verify(path)[0]


@pytest.mark.parametrize("content", [b"", b"text", HEAD, SVG, HEAD + b"\0\0\xff\xffIHDR"])
def test_what_is_no_picture_of_the_labs_is_said_in_a_line(tmp_path, content):
    path = tmp_path / "figure.png"
    path.write_bytes(content)
    with pytest.raises(LabError, match="no note|cannot be read") as caught:
        read_note(path)
    assert "\n" not in str(caught.value)


def test_a_missing_picture_and_a_note_that_is_no_note(tmp_path, capsys):
    for arguments in (["verify", "nowhere.png"], ["figure", "nowhere.png"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 1 and "cannot be read as a picture" in "".join(capsys.readouterr())
    path = tmp_path / "a.svg"
    for said in (b"[1]", b"{}", b"{", b'{"entry": 3}', b'{"entry": "a", "tables": 3}'):
        path.write_bytes(SVG.replace(b"<text>", results.NOTE.pattern.replace(b"(.*?)", said) + b"<text>"))
        with pytest.raises(LabError, match="no note|cannot be read"):
            read_note(path)


@pytest.mark.parametrize("options", [{"seeds": 3}, {"tasks": ["memorize"]}])
def test_a_picture_of_some_seeds_or_tasks_is_held_to_these(tmp_path, monkeypatch, options):
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "store"))
    monkeypatch.setattr("lab.catalogue.figure.export.images", lambda _: {"svg": SVG})
    made = figure("transformers/fig10", "smoke", progress=False, **({"tasks": ["memorize"]} | options))
    path = tmp_path / "figure.svg"
    made.write(tmp_path)
    stated, _ = read_note(path)
    assert stated["command"].endswith("--tasks memorize" + (" --seeds 3" if "seeds" in options else ""))
    assert verify(path)[0], verify(path)[1]
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "other"))
    with pytest.raises(LabError, match="no results here to compare with"):
        verify(path)


def test_a_picture_with_times_is_held_to_all_its_other_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("lab.catalogue.figure.export.images", lambda _: {"svg": SVG})
    figure("crossing/league", "smoke", progress=False).write(tmp_path)
    path, table = tmp_path / "figure.svg", Results(tmp_path).table()
    for changed, same in (({"cost": table["cost"] + 1}, True), ({"cost": 2.0, "score": table["score"] + 1}, False)):
        content = table.assign(**changed).to_csv(index=False).encode()
        facts = Results(tmp_path).facts | {"tables": digests({"table": content})}
        path.write_bytes(with_note(SVG, note(facts)))
        (tmp_path / "table.csv").unlink()
        assert "times (cost, seconds) are taken anew" in verify(path)[1]
        (tmp_path / "table.csv").write_bytes(content)
        (tmp_path / "provenance.json").write_bytes(sealed(facts))
        assert verify(path)[0] is same
        assert ("the same numbers, but for times (cost, seconds)" in verify(path)[1]) is same


def test_a_note_that_names_itself_or_has_control_characters_is_refused(tmp_path, capsys):
    stated = read_note(RESULTS / NAME / SCALE / "figure.png")[0]
    path = tmp_path / "loop.svg"
    path.write_bytes(with_note(SVG, stated | {"entry": str(path)}))
    with pytest.raises(SystemExit):
        main(["figure", str(path)])
    assert "unknown figure" in capsys.readouterr().err
    path.write_bytes(with_note(SVG, stated | {"scale": "\x1b[31m"}))
    with pytest.raises(LabError, match="no note"):
        read_note(path)
    path.write_bytes(SVG.replace(b"<text>", b'<metadata id="lab-figure">' + b"[" * 100_000 + b"</metadata><text>"))
    with pytest.raises(LabError, match="cannot be read as a picture"):
        read_note(path)


def test_every_file_is_verified_and_none_is_an_error(png, tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["verify"])
    assert caught.value.code == 2
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        main(["verify", "nowhere.png", str(png)])
    said = capsys.readouterr()
    assert caught.value.code == 1 and "nowhere.png cannot be read" in said.out and "the same numbers" in said.out
    assert "1 of 2 files are not what the lab writes here" in said.err


def test_a_picture_says_itself_what_is_drawn(png, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["figure", str(png), "--seeds", "3"])
    assert caught.value.code == 2 and "give --out alone" in capsys.readouterr().err


CHROMES = b"""%PDF-1.4
1 0 obj
<</Type /Catalog /Pages 2 0 R /Marks <</Marked true>>>>
endobj
2 0 obj
<</Type /Pages /Kids [] /Count 0>>
endobj
xref
0 3
0000000000 65535 f 
0000000009 00000 n 
0000000080 00000 n 
trailer
<</Size 3
/Root 1 0 R>>
startxref
130
%%EOF
"""  # noqa: W291


def test_a_pdf_keeps_its_note_and_every_byte_is_held_to_it(png, tmp_path):
    stated = read_note(png)[0] | {"command": "lab figure <a> & 'b'", "format": "pdf", "width": "column"}
    path = tmp_path / "figure.pdf"
    content = with_note(CHROMES, stated)
    path.write_bytes(content)
    assert read_note(path) == (stated, True) and split(content)[0] == CHROMES and with_note(content, stated) == content
    assert len(content) - len(CHROMES) < 2000
    for number, start in re.findall(rb"(\d+) 1\n(\d{10}) 00000 n", content):
        assert content[int(start) :].startswith(number + b" 0 obj"), "places of what was added"
    for changed in (
        content.replace(b"/Count 0", b"/Count 1"),
        content + b"% more",
        content.replace(b"fig11", b"fig12"),
        content.replace(b"/Prev", b"/Last"),
        CHROMES.replace(b"/Count 0", b"/Count 2") + content[len(CHROMES) :],  # the note of another picture
    ):
        path.write_bytes(changed)
        assert read_note(path)[1] is False and "was changed" in verify(path)[1]


def test_a_column_is_verified_and_one_edited_path_is_reported(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["figure", NAME.replace("11", "6"), "--scale", "best", "--format", "svg", "--width", "column", "--out", "a"])
    path = tmp_path / "a/figure.svg"
    main(["verify", str(path)])
    assert "the same numbers" in capsys.readouterr().out
    main(["figure", str(path), "--out", "b"])
    assert (tmp_path / "b/figure.svg").read_bytes() == path.read_bytes(), "it is drawn again as it was"
    content = path.read_bytes()
    stated, _ = read_note(path)
    other = with_note(content.replace(b'd="M', b'd="M1,1M', 1), stated)
    noted = re.search(rb"<metadata.*?</metadata>", content)[0]
    for changed in (
        content.replace(b'd="M', b'd="M1,1M', 1),
        re.sub(rb"<metadata.*?</metadata>", lambda _: noted, other),  # the note of another picture
        content.replace(b"</svg>", b"<!-- --></svg>"),
    ):
        path.write_bytes(changed)
        with pytest.raises(SystemExit) as caught:
            main(["verify", str(path)])
        assert caught.value.code == 1 and "was changed after the lab drew it" in capsys.readouterr().out


def test_formats_and_widths_are_checked_before_anything_is_trained(capsys):
    for options in (["--format", "gif"], ["--width", "column"], ["--format", "png", "--width", "column"]):
        with pytest.raises(SystemExit) as caught:
            main(["figure", "simplicity/fig11", "--scale", "paper", *options])  # whose runs take days
        assert caught.value.code == 2
    capsys.readouterr()
