"""Writes the declarations of the bindings from interface.json: one module per language."""
