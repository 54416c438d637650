# SPDX-License-Identifier: Apache-2.0
"""Side work in any bubble, for tests whose bubbles are so short that they would not be worth it."""

import lull

ANY_BUBBLE = lull.Tuning(training_worth=0)
