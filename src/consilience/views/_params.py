"""Parameters inside a dict of view -> estimator, reachable as ``view__param``."""

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
        """Parameters; with ``deep``, those of the estimators of single views as well.

        Parameters
        ----------
        deep : bool, default=True
            Include parameters of nested estimators.

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
        """Members reachable by name: those whose view is not called like a parameter."""
        members = own[self._per_view]
        if not isinstance(members, Mapping):
            return {}
        return {view: member for view, member in members.items() if view not in own}

    def set_params(self, **params: Any) -> PerViewParams:
        """Set parameters; ``view__param`` reaches into the estimator of one view.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
        """
        # first the whole dict, if it is among them, so that the nested names find it
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
            # the longest name first: a view may be called a__b beside one called a
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
        raise ValueError(f"{key!r} cannot be set: view {view!r} has {member!r}, not an estimator")
    member.set_params(**{key[len(view) + 2 :]: value})


def per_view_values(value: Any) -> list[Any]:
    """The values of a parameter that is one value for all views, or a dict of view -> value."""
    return list(value.values()) if isinstance(value, Mapping) else [value]


def per_view(value: Any, names: tuple[str, ...], parameter: str) -> dict[str, Any]:
    """One value for every view, or the entries of a dict that must name exactly the views."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    unknown = [name for name in value if name not in names]
    lacking = [name for name in names if name not in value]
    if unknown or lacking:
        raise ValueError(
            f"{parameter} must have one entry for each of the views {format_list(names)}; "
            + (f"it has unknown {format_list(unknown)}" if unknown else "")
            + (" and " if unknown and lacking else "")
            + (f"it lacks {format_list(lacking)}" if lacking else "")
        )
    return {name: value[name] for name in names}
