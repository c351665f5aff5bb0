"""Stowplan: a Kubernetes scheduler in Python."""
