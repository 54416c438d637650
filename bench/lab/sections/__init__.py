# SPDX-License-Identifier: Apache-2.0
"""Sections, a module for each kind of measurement. A module here is found by itself."""
