"""Figures that the project promises, measured side by side in one run."""
