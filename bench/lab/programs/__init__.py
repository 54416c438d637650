# SPDX-License-Identifier: Apache-2.0
"""Programs that sections run, a module each; its function `measure` has the options as parameters."""
