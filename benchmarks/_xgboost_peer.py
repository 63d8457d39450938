"""Seconds of a round: MuMBo on three views against xgboost.dask's histograms on all columns."""

import dask.array as da

from consilience.boosting import MuMBoClassifier

FEW, MANY = 2, 32  # rounds of the two fits whose difference is timed


def per_round(fit, timed, client):
    """Wall-clock seconds, and processor seconds of the busiest worker, of a round."""
    fit(1)  # modules and connections
    (_, wall, _, few), (_, later, _, many) = (
        timed(fit, rounds, client=client) for rounds in (FEW, MANY)
    )
    return [(later - wall) / (MANY - FEW), (max(many) - max(few)) / (MANY - FEW)]


def compare_with_xgboost(views, labels, timed, client):
    """Both on the same rows, which stay on the workers; trees of depth 3, one thread each."""
    try:
        import xgboost
        from xgboost import dask as xgboost_dask
    except ImportError:
        print("xgboost is not installed: pip install xgboost")
        return
    columns = da.concatenate(list(views.values()), axis=1).rechunk((None, -1)).persist()
    matrix = xgboost_dask.DaskQuantileDMatrix(client, columns, labels)
    params = {"tree_method": "hist", "max_depth": 3, "objective": "binary:logistic", "nthread": 1}

    def boost(rounds):
        return xgboost_dask.train(client, params, matrix, num_boost_round=rounds)

    def fit(rounds):
        return MuMBoClassifier(n_estimators=rounds, random_state=0).fit(views, labels)

    theirs, ours = (per_round(function, timed, client) for function in (boost, fit))
    print(
        f"a round on two workers, {columns.shape[0]:.0e} x {columns.shape[1]}: MuMBo "
        f"{ours[0]:.3f} s (processor of a worker {ours[1]:.3f} s), "
        f"xgboost {xgboost.__version__} hist {theirs[0]:.3f} s ({theirs[1]:.3f} s): "
        f"ratio of wall-clock {ours[0] / theirs[0]:.2f}, "
        f"of processor time {ours[1] / theirs[1]:.2f} (<= 1.5 wanted)",
        flush=True,
    )
