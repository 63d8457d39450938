"""A user's own comparison: files or a data set in; ranking, importance of views and a model out.

``inputs`` reads what is compared, ``study`` plans and runs the fits on the benchmark engine,
``record`` is the file that repeats a run, ``predict`` applies the model to new files.
"""
