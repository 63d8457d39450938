"""
Tuning with Optuna
==================

Estimators follow scikit-learn's conventions, so any tuner drives them. Here Optuna chooses the
kernel machine's parameters and which views take part.
"""

import matplotlib.pyplot as plt
import optuna
from sklearn.model_selection import cross_val_score

from consilience.datasets import make_multiview_classification
from consilience.kernel import MKLClassifier

data, y = make_multiview_classification(
    200, n_views=4, n_features=8, strength=[2.0, 1.5, 0.0, 0.0], random_state=0
)
optuna.logging.set_verbosity(optuna.logging.WARNING)


def objective(trial):
    C = trial.suggest_float("C", 1e-2, 1e2, log=True)
    norm = trial.suggest_categorical("norm", [1, 2, "mean"])
    views = [name for name in data.view_names if trial.suggest_categorical(name, [True, False])]
    if not views:
        return 0.0
    return cross_val_score(MKLClassifier(norm, C=C), data.select(views), y, cv=3).mean()


study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(objective, n_trials=25)
print(study.best_params, f"{study.best_value:.3f}")

# %%
# The best value of a search is too optimistic: score the winner on samples that the search has
# not seen.
values = [trial.value for trial in study.trials]
best = [max(values[: i + 1]) for i in range(len(values))]
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.scatter(range(1, len(values) + 1), values, color="lightgrey", label="trials")
ax.step(range(1, len(best) + 1), best, where="post", label="best so far")
ax.set(xlabel="trial", ylabel="accuracy")
ax.legend()
plt.show()
