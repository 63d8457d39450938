"""
How many landmarks?
===================

In the manner of the first figure of Zantedeschi et al. (2018): accuracy and training time of
MVL-SVM as the number of landmarks grows, on digits in place of the paper's data. Centres of
k-means need fewer landmarks than random rows; time is linear in their number.
"""

import time

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from consilience.datasets import load_digits_views
from consilience.landmark import MVLSVMClassifier

data, y = load_digits_views(kind="features", return_X_y=True)
train, test, y_train, y_test = train_test_split(data, y, train_size=600, random_state=0, stratify=y)

numbers = [5, 10, 20, 40]
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for kind in ("kmeans", "random"):
    scores, seconds = [], []
    for number in numbers:
        model = MVLSVMClassifier(number, landmarks=kind, random_state=0)
        start = time.process_time()
        model.fit(train, y_train)
        seconds.append(time.process_time() - start)
        scores.append(model.score(test, y_test))
    axes[0].plot(numbers, scores, marker="o", label=kind)
    axes[1].plot(numbers, seconds, marker="o", label=kind)
axes[0].set(xlabel="landmarks of each view", ylabel="accuracy", xscale="log")
axes[1].set(xlabel="landmarks of each view", ylabel="seconds of fit")
axes[0].set_xticks(numbers, labels=map(str, numbers))
axes[0].minorticks_off()
axes[0].legend()
plt.show()
