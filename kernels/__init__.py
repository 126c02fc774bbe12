"""Triton kernels, their float64 references and their CPU twin."""
