"""TensorFlow Datasets builders of the three data sets, each for any listed edition."""
