"""Write digits.npz from scikit-learn's digits: `pip install scikit-learn`, in any environment."""

import numpy
from sklearn.datasets import load_digits

digits = load_digits()
numpy.savez("digits.npz", images=digits.images, target=digits.target)
