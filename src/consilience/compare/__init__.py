"""Compare methods on the user's data: ranking, importance of views, and a fitted model.

``inputs`` reads the data, ``study`` plans and runs the fits on the benchmark engine, ``record``
holds everything needed to repeat a run, and ``predict`` applies the model to new files.
"""
