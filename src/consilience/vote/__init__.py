"""Weighted majority votes."""
