"""The device that trains: which there is, and its name."""

from __future__ import annotations

import os

import torch

from lab.errors import ArgumentError, check_choice

DEVICES = ("auto", "cpu", "cuda")


def choose_device(device: str) -> str:
    """Where to train: "auto" is cuda where torch finds it, else cpu."""
    if check_choice("device", device, DEVICES) == "cuda" and not torch.cuda.is_available():
        raise ArgumentError("device 'cuda' was asked for, but torch finds no CUDA device; use cpu or auto")
    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device


def device_name(device: str) -> str:
    """The device in words."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    return f"CPU, {os.cpu_count()} cores"
