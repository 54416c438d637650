# SPDX-License-Identifier: Apache-2.0
"""What else could run a captured PyTorch step beside training: the parts of the program `compare`."""
