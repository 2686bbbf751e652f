"""Where things are: what comes with the lab, and where it writes, in a checkout and in an installation alike.

A checkout has both in its own folders. In a wheel, what comes with the lab is inside the package, where `setup.py` puts
it; what is written goes to the user's data folder, so that an installation can be read-only.
"""

import sys
from pathlib import Path

from lab.errors import LabError

VERSION = "0.1.0"
NAME = "lab-nonlinearities"  # of the distribution, and of the user's data folder
PACKAGE = Path(__file__).parent
CHECKOUT = PACKAGE.parent if (PACKAGE.parent / "data" / "zoo").is_dir() else None
SHIPPED = CHECKOUT / "data" if CHECKOUT else PACKAGE / "shipped"  # with runs/ and searches/, as a store has them
ZOO, RESULTS, SAMPLES = SHIPPED / "zoo", SHIPPED / "results", SHIPPED / "samples"
NOTEBOOKS = (CHECKOUT or SHIPPED) / "notebooks"


def default_folder(folder: str) -> Path:
    """Where the lab writes if no variable says it: a folder in `data` of a checkout, else in the user's data folder.

    It need not be there. Raises LabError where nothing says what the user's data folder is.

    >>> default_folder("store").name
    'store'
    """
    if CHECKOUT:
        return (CHECKOUT / "data" / folder).absolute()
    try:
        from platformdirs import user_data_path
    except ModuleNotFoundError as error:  # the functions alone are installed
        said = "the user's data folder is not known without platformdirs"
        raise LabError(f"{said}; install that with pip, or name a folder with LAB_STORE and LAB_CACHE") from error
    return user_data_path(NAME, appauthor=False).absolute() / folder


def in_words() -> str:
    """Which lab this is: a checkout or an installation, and where.

    >>> in_words().startswith(("checkout ", "installation "))
    True
    """
    return f"checkout {CHECKOUT.absolute()}" if CHECKOUT else f"installation {PACKAGE.absolute()}"


def unused() -> list[Path]:
    """Folders of other labs on Python's path or of editable installations, without the one in use."""
    here = PACKAGE.resolve()
    specs = [finder.find_spec("lab", None) for finder in sys.meta_path]
    labs = [Path(folder or ".", "lab") for folder in sys.path]
    labs += [Path(spec.origin).parent for spec in specs if spec and spec.origin]
    return [
        lab
        for lab in dict.fromkeys(lab.resolve() for lab in labs)
        if lab != here and (lab / "nonlinearity" / "spline.py").is_file()
    ]
