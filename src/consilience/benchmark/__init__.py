"""Comparison of methods: named recipes and their cross-validation."""

from consilience.benchmark.recipes import RECIPES, Recipe, get_recipes
from consilience.benchmark.run import cross_validate_recipes, rank

__all__ = ["RECIPES", "Recipe", "cross_validate_recipes", "get_recipes", "rank"]
