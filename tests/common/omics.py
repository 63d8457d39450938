"""MuData as its versions from 0.4 on have it."""

import contextlib

import mudata


def settled_mudata():
    """A context in which updates do not copy columns to the whole, as from mudata 0.4 on."""
    if hasattr(mudata, "set_options"):
        return mudata.set_options(pull_on_update=False)
    return contextlib.nullcontext()
