"""Tasks by name: tables as people type them, titles as figures spell them, and the floor of an accuracy."""

import re

from lab.data import datasets
from lab.errors import LONGEST, ArgumentError, check_type, shortened
from lab.task_names import AS_NUMBERS, TASK_TITLES
from lab.tasks.images import Images
from lab.tasks.operation import GROUPS, MOST, Operation
from lab.tasks.table import TableTask, Tabular

TEXT_TITLES = {  # of texts, by the name of their data set
    "shakespeare": "Shakespeare",
    "moby_dick": "Moby-Dick",
    "python_stdlib": "Python library",
    "tinystories": "TinyStories",
    "enwik8_clean": "Enwik8",
    "code_search_net_java": "CSN-Java",
    "code_search_net_python": "CSN-Python",
}
TOKEN_TITLES = {"char": "char", "gpt2": "GPT-2 BPE", "bpe": "own BPE"}
# Accuracy, 0 to 1, on `test` (COPY: on "lengths"), of the best answer that does not solve the task: one token wherever
# something is to be said (in sums the end of the sequence, in PARENTHESES and MEMORIZE the class that is most frequent
# in training), and in HAYSTACK some value of the list.
TRIVIAL = {
    "memorize": 0.041,
    "addmod": 0.017,
    "add": 0.219,
    "addreversed": 0.219,
    "mano": 0.206,
    "haystack": 0.302,
    "copy": 0.0,
    "parentheses": 0.514,
}
NEAR = 0.05  # runs so close to it have not left it: 1,000 examples alone make two standard deviations of .03


def table_named(name: str) -> TableTask | None:
    """The operation, image set or data set of this name; None where there is none.

    >>> table_named("ab mod 27") == Operation("ab", modulus=27), table_named("aba^-1 in S4").inputs
    (True, 48)
    >>> table_named("mnist_sample as numbers").target, table_named("bank-marketing").inputs, table_named("chess")
    ('id', 7, None)
    """
    check_type("name", name, str, "a text, such as 'ab mod 27'")
    if match := re.fullmatch(r"(.+) mod ([0-9]+)", name):
        if len(match[2]) > LONGEST:  # Python does not read numbers of thousands of digits
            raise ArgumentError(f"modulus={shortened(match[2])}: give a whole number, 2 to {MOST}")
        return Operation(match[1], modulus=int(match[2]))
    if match := re.fullmatch(rf"(.+) in ({'|'.join(GROUPS)})", name):
        return Operation(match[1], group=match[2])
    source = name.removesuffix(AS_NUMBERS)
    kind = datasets.CATALOGUE[source].kind if source in datasets.CATALOGUE else None
    if kind == "images":
        return Images(source, target="class" if source == name else "id")
    return Tabular(name) if kind == "table" and source == name else None


def task_title(task: str) -> str:
    """A task's name as figures spell it; names that the lab does not know stay as they are.

    >>> task_title("addmod"), task_title("shakespeare char")
    ('AddMod', 'Shakespeare, char')
    """
    corpus, _, tokens = task.partition(" ")
    if corpus in TEXT_TITLES and tokens in TOKEN_TITLES:
        return f"{TEXT_TITLES[corpus]}, {TOKEN_TITLES[tokens]}"
    return TASK_TITLES.get(task, task)


def trivial(task: str) -> float:
    """Accuracy of the best trivial answer to a task, 0 to 1; NaN for tasks that are not known here.

    >>> trivial("mano")
    0.206
    """
    return TRIVIAL.get(task, float("nan"))


def learned(task: str, best: float) -> bool:
    """Whether an accuracy (0 to 1; that of the best run) has left the trivial answer of a task.

    >>> learned("mano", 0.234), learned("mano", 0.4), learned("another", 0.0)
    (False, True, True)
    """
    return not best < trivial(task) + NEAR
