"""Pure functions on arrays: solvers and updates that know nothing of estimators or views."""
