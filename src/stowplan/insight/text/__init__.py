"""Explanations as text for terminals: sentences folded at the width, tables as wide as they need."""
