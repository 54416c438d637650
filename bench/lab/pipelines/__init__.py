# SPDX-License-Identifier: Apache-2.0
"""Pipelines in PyTorch on several GPUs: the parts of the program `pipeline`, which tests share."""
