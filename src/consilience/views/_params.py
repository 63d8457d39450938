"""Nested parameters ``view__param`` of a dict of view -> estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator

from consilience.views._storage import format_list

__all__ = ["PerViewParams", "per_view", "per_view_values"]


class PerViewParams(BaseEstimator):
    """Estimator whose parameter named by ``_per_view`` may be a dict of view -> estimator."""

    _per_view: str = "estimator"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters; with ``deep``, also those of the per-view estimators.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of nested estimators.

        Returns
        -------
        dict
        """
        params = super().get_params(deep=deep)
        for view, member in self._named_members(params).items() if deep else ():
            params[view] = member
            if hasattr(member, "get_params"):
                nested = member.get_params(deep=True)
                params.update({f"{view}__{key}": value for key, value in nested.items()})
        return params

    def _named_members(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Members that can be set by view name: those whose name is not also a parameter."""
        members = own[self._per_view]
        if not isinstance(members, Mapping):
            return {}
        return {view: member for view, member in members.items() if view not in own}

    def set_params(self, **params: Any) -> PerViewParams:
        """Set parameters; ``view__param`` sets a parameter of the estimator of one view.

        Parameters
        ----------
        **params : dict
            Parameter names and values.

        Returns
        -------
        self
        """
        # the dict itself comes first, because the nested names refer to its entries
        if self._per_view in params:
            setattr(self, self._per_view, params.pop(self._per_view))
        if isinstance(getattr(self, self._per_view), Mapping):
            for key in [key for key in params if key.startswith(f"{self._per_view}__")]:
                raise ValueError(
                    f"{key!r} cannot be set: {self._per_view} is a dict; name the view, e.g. "
                    f"{next(iter(getattr(self, self._per_view)))}__{key.partition('__')[2]}"
                )
        for key in list(params):
            members = self._named_members(super().get_params(deep=False))
            # longest name first, because one view may be called a and another a__b
            for view in sorted(members, key=len, reverse=True):
                if key == view:
                    replaced = {**getattr(self, self._per_view), view: params.pop(key)}
                    setattr(self, self._per_view, replaced)
                    break
                if key.startswith(f"{view}__"):
                    _set_nested(members[view], view, key, params.pop(key))
                    break
        super().set_params(**params)
        return self


def _set_nested(member: Any, view: str, key: str, value: Any) -> None:
    if not hasattr(member, "set_params"):
        raise ValueError(
            f"{key!r} cannot be set: view {view!r} has {member!r}, which is not an estimator"
        )
    member.set_params(**{key[len(view) + 2 :]: value})


def per_view_values(value: Any) -> list[Any]:
    """Values of a parameter that is one value for all views or a dict of view -> value."""
    return list(value.values()) if isinstance(value, Mapping) else [value]


def per_view(value: Any, names: tuple[str, ...], parameter: str) -> dict[str, Any]:
    """Expand a single value to all views, or check that a dict has one entry per view."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    unknown = [name for name in value if name not in names]
    missing = [name for name in names if name not in value]
    if unknown or missing:
        raise ValueError(
            f"{parameter} must have one entry for each of the views {format_list(names)}; "
            + (f"unknown: {format_list(unknown)}" if unknown else "")
            + (", " if unknown and missing else "")
            + (f"missing: {format_list(missing)}" if missing else "")
        )
    return {name: value[name] for name in names}
