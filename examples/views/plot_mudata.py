"""
MuData
======

A ``MuData`` object of single-cell analysis is read as it is: its modalities are the views, its
``obs_names`` the samples, and cells without a modality lack that view.
"""

import matplotlib.pyplot as plt
import mudata
import pandas as pd
from anndata import AnnData
from sklearn.model_selection import train_test_split

from consilience import ConsilienceClassifier, as_multiview
from consilience.datasets import make_multiview_classification
from consilience.inspection import ViewImportanceDisplay

if hasattr(mudata, "set_options"):  # before mudata 0.4, whose behaviour this is
    mudata.set_options(pull_on_update=False)

# %%
# Two modalities of which the second was measured in two thirds of the cells.
views, cell_type = make_multiview_classification(
    300, n_views=2, n_features=[80, 25], n_classes=3, strength=[2.0, 3.0], random_state=0
)
cells = [f"cell{number}" for number in range(len(cell_type))]
rna = AnnData(views["view0"], obs=pd.DataFrame(index=cells))
rna.var_names = [f"gene{j}" for j in range(rna.n_vars)]
protein = AnnData(views["view1"][:200], obs=pd.DataFrame(index=cells[:200]))
protein.var_names = [f"antibody{j}" for j in range(protein.n_vars)]
mdata = mudata.MuData({"rna": rna, "protein": protein})

data = as_multiview(mdata)
print(data)

# %%
# The names of the cells put the labels into the order of the samples.
labels = data.align(pd.Series(cell_type, index=cells)).to_numpy()
train, test, y_train, y_test = train_test_split(data, labels, random_state=0, stratify=labels)
model = ConsilienceClassifier(n_estimators=50, random_state=0).fit(train, y_train)
has_both = test.present.all(axis=1)
print(f"accuracy of cells with both modalities {model.score(test[has_both], y_test[has_both]):.2f}")
print(f"accuracy of cells with one modality {model.score(test[~has_both], y_test[~has_both]):.2f}")

display = ViewImportanceDisplay.from_estimator(model, test, y_test, random_state=0)
display.ax_.set_title("score lost when a modality is shuffled among the cells that have it")
display.figure_.set_size_inches(7, 2.5)
display.figure_.set_layout_engine("constrained")
plt.show()
