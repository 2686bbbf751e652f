"""What tests of explorers share."""

import pytest


@pytest.fixture(scope="module")
def own_store(tmp_path_factory):
    """A store for the tests of one explorer, because which models it finds depends on what is in the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_STORE", str(tmp_path_factory.mktemp("store")))
        yield
