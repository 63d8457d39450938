"""Seconds of a round: MuMBo on three views against xgboost.dask's histograms on all columns."""

import dask.array as da

from consilience.boosting import MuMBoClassifier

FEW, MANY = 2, 12  # rounds of the two fits whose difference is timed


def per_round(fit, timed, client):
    """Wall-clock seconds, and processor seconds here and on the busiest worker, of a round."""
    fit(1)  # modules and connections
    first, last = (timed(fit, rounds, client=client)[1:] for rounds in (FEW, MANY))
    return [
        (there - here) / (MANY - FEW)
        for here, there in ((first[0], last[0]), (busiest(first), busiest(last)))
    ]


def busiest(times):
    _, own, workers = times
    return own + max(workers)


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
        f"{ours[0]:.3f} s (processor {ours[1]:.3f} s), xgboost {xgboost.__version__} hist "
        f"{theirs[0]:.3f} s ({theirs[1]:.3f} s): ratio of wall-clock {ours[0] / theirs[0]:.2f}, "
        f"of processor time {ours[1] / theirs[1]:.2f} (<= 1.5 wanted)",
        flush=True,
    )
