"""The garbage collector is paused while a robot is read, and its state is restored afterwards."""

import gc

import pytest

import mbt
from support.urdf_texts import chain


@pytest.fixture
def collections():
    """Return a list that grows by one with each collection of garbage."""
    seen = []

    def note(phase, info):
        if phase == "start":
            seen.append(info["generation"])

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)


@pytest.fixture(params=[True, False], ids=["enabled", "disabled"])
def enabled(request):
    was_enabled = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was_enabled else gc.disable)()


def add_to_tree(text):
    return mbt.parsing.add_model(mbt.MultibodyTree(), text)


@pytest.mark.parametrize("load", [mbt.load_model, add_to_tree])
def test_collection_waits(load, collections, enabled):
    text = chain(1000)
    load(chain(1))  # The first load imports modules.
    gc.collect()
    collections.clear()
    kept = load(text)
    # One collection before and one after are allowed.
    assert len(collections) <= 2
    assert gc.isenabled() is enabled
    assert kept is not None


@pytest.mark.parametrize("load", [mbt.load_model, add_to_tree])
def test_an_error_leaves_the_collector_as_it_was(load, enabled):
    with pytest.raises(mbt.ParseError):
        load("<robot>")
    assert gc.isenabled() is enabled
