"""Weights to and from PyTorch. Importing this module imports torch."""

import torch


def state_dict(model):
    """The values of a Model as tensors, for a module's load_state_dict. PyTorch's names are the library's own."""
    return {name: torch.from_numpy(value) for name, value in model.state_dict().items()}


def load_state_dict(model, values, strict=True):
    """Takes the values of a module's state_dict(), from any device. See Model.load_state_dict."""
    return model.load_state_dict({name: value.detach().cpu() for name, value in values.items()}, strict)
