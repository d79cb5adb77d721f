"""The array types of the numerical modules."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
"""One axis of floats."""
Matrix = NDArray[np.float64]
"""Two axes of floats or more."""
