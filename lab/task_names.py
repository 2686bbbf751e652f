"""Names of tasks, for which torch is not imported: it takes seconds, and a wrong name is said at once."""

from lab.errors import ArgumentError, shown

AS_NUMBERS = " as numbers"
HELP = "a table: an operation ('a+b mod 27'), images ('mnist_sample', also ' as numbers')"
HELP += " or a data set ('bank-marketing'); `lab data` lists them"
TEXT_HELP = "a text ('shakespeare')"
# The paper's spelling, in the order of its matrices.
TASK_TITLES = {t.lower(): t for t in "Memorize AddMod Add AddReversed Mano Haystack Copy Parentheses".split()}
STREAMS = ("logic", "sraven")  # tasks that are classes; figures have them by these names
JOINTS = (" mod ", " in ", " over ", " as ")  # between the parts of a table's name


def unknown_task(name: object) -> ArgumentError:
    """What is said of a name that no task has."""
    return ArgumentError(f"unknown task {shown(name)}; known: {', '.join(TASK_TITLES)}; {TEXT_HELP}; or {HELP}")


def check_task_name(name: str) -> str:
    """The name, unless no task can have it; a name that has the form of a table's is checked later, with the data.

    >>> check_task_name("a+b mod 27"), check_task_name("shakespeare gpt2")
    ('a+b mod 27', 'shakespeare gpt2')
    >>> check_task_name("memorise")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lab.errors.ArgumentError: unknown task 'memorise'; known: memorize, addmod, ...
    """
    from lab.data.catalogue import CATALOGUE  # with numpy, which `lab --help` does without

    known = (*TASK_TITLES, *STREAMS, *CATALOGUE)
    if name.lower() not in STREAMS and name.partition(" ")[0] not in known and not any(one in name for one in JOINTS):
        raise unknown_task(name)
    return name
