"""Write diabetes.csv from scikit-learn's data: `pip install scikit-learn pandas`, in any environment."""

from sklearn.datasets import load_diabetes

load_diabetes(as_frame=True).frame.to_csv("diabetes.csv", index=False)
