"""A running score: how many problems you and a model solved, and how many chance would have."""

from __future__ import annotations

from dataclasses import dataclass, field

CELL = "padding: 1px 14px 1px 0; text-align: left"
TABLE = '<table style="border-collapse: collapse; line-height: 1.5"><tbody>{}</tbody></table>'


@dataclass
class Tally:
    """Whole problems and single features that were right, and by how many who guesses would be right on average.

    >>> tally = Tally()
    >>> tally.add(features=2, values=8, you=2, model=1)
    >>> tally.add(features=2, values=8, you=1, model=None)  # no model was there
    >>> tally.rows()[1:]
    [('problems', '1 of 2', '0 of 1', '0.031 of 2'), ('features', '3 of 4', '1 of 2', '0.5 of 4')]
    """

    solved: list[tuple[int, int, int, int | None]] = field(default_factory=list)  # features, values, you, model

    def add(self, features: int, values: int, you: int, model: int | None) -> None:
        """One more problem: of its features, how many you had right, and how many a model had."""
        self.solved.append((features, values, you, model))

    def rows(self) -> list[tuple[str, ...]]:
        """The score as words: a head, whole problems, single features."""
        modelled = [(k, model) for k, _, _, model in self.solved if model is not None]
        all_of = len(self.solved), sum(k for k, *_ in self.solved)
        by_you = sum(you == k for k, _, you, _ in self.solved), sum(you for *_, you, _ in self.solved)
        by_model = sum(model == k for k, model in modelled), sum(model for _, model in modelled)
        asked = len(modelled), sum(k for k, _ in modelled)
        chance = sum(f**-k for k, f, *_ in self.solved), sum(k / f for k, f, *_ in self.solved)
        rows: list[tuple[str, ...]] = [("right", "you", "the model", "chance")]
        for number, name in enumerate(("problems", "features")):
            model = f"{by_model[number]} of {asked[number]}" if modelled else "–"
            guessed = f"{chance[number]:.2g} of {all_of[number]}"
            rows.append((name, f"{by_you[number]} of {all_of[number]}", model, guessed))
        return rows

    def html(self) -> str:
        """The score as a table of a page."""
        lines = []
        for number, row in enumerate(self.rows()):
            kinds = ["th" if number == 0 or column == 0 else "td" for column in range(len(row))]
            lines.append(
                "".join(f'<{kind} style="{CELL}">{text}</{kind}>' for kind, text in zip(kinds, row, strict=True))
            )
        return TABLE.format("".join(f"<tr>{line}</tr>" for line in lines))
