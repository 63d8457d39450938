"""
Signals of three axes
=====================

An accelerometer gives one signal for each axis; each axis is a view. An array of shape (samples,
axes, times) is read directly. When a sensor fails, its view is missing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from consilience import MultiViewData, as_multiview
from consilience.landmark import MVLSVMClassifier

# %%
# Four gestures: phase, frequency and strength differ from axis to axis.
rng = np.random.default_rng(0)
n, n_times, n_gestures = 400, 50, 4
gesture = rng.integers(0, n_gestures, n)
t = np.linspace(0, 1, n_times)
frequency = np.array([[1, 2, 1], [1, 1, 2], [2, 1, 1], [2, 2, 2]])[gesture]
shift = rng.normal(scale=0.15, size=(n, 3))
signals = np.sin(2 * np.pi * frequency[:, :, None] * (t + shift[:, :, None]))
signals += rng.normal(scale=1.0, size=signals.shape)

data = as_multiview(signals)
print(data)

# %%
train, test, y_train, y_test = train_test_split(data, gesture, random_state=0)
model = MVLSVMClassifier(n_landmarks=40, random_state=0).fit(train, y_train)
print(f"accuracy {model.score(test, y_test):.2f}")

# %%
# Sensors fail at random. Similarities to the landmarks of a missing axis are imputed, from those of
# the other axes (EM) or with means. Which is better depends on how well the axes predict each
# other; here, given the gesture, they hardly do.
rates = [0.0, 0.1, 0.2, 0.3, 0.4]
curves = {"em": [], "mean": []}
for imputation, curve in curves.items():
    model = MVLSVMClassifier(n_landmarks=40, imputation=imputation, random_state=0)
    for rate in rates:
        draws = np.random.default_rng(1)
        present = draws.random((n, 3)) >= rate
        present[np.arange(n), draws.integers(0, 3, n)] = True
        incomplete = MultiViewData(dict(data.items()), present=present)
        parts = train_test_split(incomplete, gesture, random_state=0)
        curve.append(model.fit(parts[0], parts[2]).score(parts[1], parts[3]))

fig, axes = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
for axis, name in enumerate("xyz"):
    axes[0].plot(t, signals[0, axis] + 5 * axis, label=name)
axes[0].set(xlabel="time", yticks=[], title=f"gesture {gesture[0]}")
axes[0].legend(loc="upper right")
for imputation, curve in curves.items():
    axes[1].plot(rates, curve, marker="o", label=imputation)
axes[1].set(xlabel="share of missing axes", ylabel="accuracy")
axes[1].legend(title="imputation")
plt.show()
