"""Tasks as a reader sees them: strings of tokens. The oracles work on these and know nothing of ids."""

from lab.tasks import Task


def lines(task: Task, split: str, most: int | None = None) -> list[str]:
    """The examples of the split (the first `most` of them, or all) as `Task.show` writes them."""
    names = dict(enumerate(task.vocabulary))
    return [" ".join(names[i] for i in row if i) for row in task.splits[split].tokens[:most].tolist()]


def halves(task: Task, split: str, most: int | None = None) -> list[tuple[list[str], list[str]]]:
    """The same examples as tokens before and after the separator, of which there must be one."""
    pairs = []
    for line in lines(task, split, most):
        before, after = line.split("<sep>")
        pairs.append((before.split(), after.split()))
    return pairs
