"""`make timing`: the clock of the virtual device against published figures."""
