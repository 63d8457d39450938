"""Compare methods on data of your own: ranking, importance of views, report, and a fitted model.

``compare`` is the function to call, here and behind ``consilience compare``. ``inputs`` reads the
data, ``study`` plans the fits and groups their results, ``ranking`` compares them with each other
and with chance, ``record`` holds everything needed to repeat a run, ``folder`` keeps studies apart,
``report`` writes the page, and ``prediction`` applies the model to new files.
"""

try:
    import msgspec  # noqa: F401 (the engine needs it)
    import rich  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"compare needs {error.name}; pip install 'consilience[compare]'", name=error.name
    ) from None

from consilience.comparison._compare import compare
from consilience.comparison._display import ComparisonDisplay
from consilience.comparison._result import ComparisonResult

__all__ = ["ComparisonDisplay", "ComparisonResult", "compare"]
