# SPDX-License-Identifier: Apache-2.0
"""Pipelines in PyTorch on several GPUs: the parts of the programs `pipeline` and `killed_rank`, which tests share."""
