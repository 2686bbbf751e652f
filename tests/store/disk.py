"""A disk of which the power is cut: what may be on it, by the calls of the system that came before.

A disk keeps what was synced: of a file its content, of a folder its names. Whatever else was written it may keep or
lose, one by one and in any order; of a file that was not synced also the length without the content, or a part.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

Tree = dict[str, bytes | None]  # files with their content, folders without, by path


class Disk:
    """The calls one by one, each as what it changes (names in folders, content of files), and whether it was synced."""

    def __init__(self, root: str):
        self.paths: dict[str, int] = {root: 0}  # which file or folder has that name now
        self.root, self.count = root, 1
        self.changes: list[tuple] = []  # (files or folders that are changed, what is done)
        self.synced: set[int] = set()  # of the changes

    def add(self, name: str, path: str, *rest) -> bool:
        """One more call that has happened; whether it changes what a cut may leave."""
        parent, base = (self.paths.get(str(Path(path).parent), 0), Path(path).name)
        if name == "mkdir" or (name == "open" and path not in self.paths):
            self.paths[path], self.count = self.count, self.count + 1
            self._change((parent,), ("link", parent, base, self.count - 1, name == "mkdir"))
        elif name == "open":
            self._change((self.paths[path],), ("cut", self.paths[path]))
        elif name == "write":
            self._change((self.paths[path],), ("write", self.paths[path], rest[0]))
        elif name in ("rename", "replace"):
            other = str(rest[0])
            moved = {old: number for old, number in self.paths.items() if old == path or old.startswith(f"{path}/")}
            self.paths = {old: number for old, number in self.paths.items() if old not in moved}
            self.paths |= {other + old[len(path) :]: number for old, number in moved.items()}
            target = self.paths.get(str(Path(other).parent), 0)
            self._change((parent, target), ("move", parent, base, target, Path(other).name, self.paths[other]))
        elif name in ("unlink", "rmdir"):
            del self.paths[path]
            self._change((parent,), ("unlink", parent, base))
        elif name == "fsync":
            number = self.paths[path]
            self.synced |= {index for index, (changed, _) in enumerate(self.changes) if number in changed}
        else:
            return False
        return True

    def _change(self, changed: tuple, what: tuple) -> None:
        self.changes.append((changed, what))

    def after_a_cut(self) -> Iterator[Tree]:
        """Everything that the disk may have."""
        loose = [index for index in range(len(self.changes)) if index not in self.synced]
        choices = [(0, 0.5, 1) if self.changes[index][1][0] == "write" else (0, 1) for index in loose]
        for kept in itertools.product(*choices):
            yield self._tree({index: 1 for index in self.synced} | dict(zip(loose, kept, strict=True)))

    def _tree(self, kept: dict) -> Tree:
        names: dict[int, dict[str, int]] = {}
        content: dict[int, bytes] = {}
        folders = {what[2] for _, (kind, *what) in self.changes if kind == "link" and what[3]}
        for index, (_, (kind, *what)) in enumerate(self.changes):
            part = kept[index]
            if kind == "write":  # the length is there, of the content a part
                content[what[0]] = content.get(what[0], b"") + what[1][: int(part * len(what[1]))] if part else b""
                if part == 0.5:
                    content[what[0]] += bytes(len(what[1]) - len(content[what[0]]))
            elif not part:
                continue
            elif kind == "link":
                names.setdefault(what[0], {})[what[1]] = what[2]
            elif kind == "cut":
                content[what[0]] = b""
            elif kind == "move":
                names.setdefault(what[0], {}).pop(what[1], None)
                names.setdefault(what[2], {})[what[3]] = what[4]
            else:
                names.setdefault(what[0], {}).pop(what[1], None)
        tree: Tree = {}
        self._walk(0, "", names, content, folders, tree)
        return tree

    def _walk(self, number: int, path: str, names: dict, content: dict, folders: set, tree: Tree) -> None:
        for name, child in names.get(number, {}).items():
            place = f"{path}/{name}".lstrip("/")
            tree[place] = None if child in folders else content.get(child, b"")
            self._walk(child, place, names, content, folders, tree)


def write(tree: Tree, folder: Path) -> None:
    """Make these files and folders below a folder."""
    folder.mkdir()
    for path, data in tree.items():
        if data is None:
            (folder / path).mkdir(parents=True)
        else:
            (folder / path).write_bytes(data)
