"""Names of tasks as figures and captions spell them."""

TASK_TITLES = {  # the paper's spelling, in the order of its matrices
    "memorize": "Memorize",
    "addmod": "AddMod",
    "add": "Add",
    "addreversed": "AddReversed",
    "mano": "Mano",
    "haystack": "Haystack",
    "copy": "Copy",
    "parentheses": "Parentheses",
}
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


def task_title(task: str) -> str:
    """A task's name as figures spell it; names that the lab does not know stay as they are.

    >>> task_title("addmod"), task_title("shakespeare char")
    ('AddMod', 'Shakespeare, char')
    """
    corpus, _, tokens = task.partition(" ")
    if corpus in TEXT_TITLES and tokens in TOKEN_TITLES:
        return f"{TEXT_TITLES[corpus]}, {TOKEN_TITLES[tokens]}"
    return TASK_TITLES.get(task, task)
