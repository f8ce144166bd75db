"""Fashion-MNIST: the official builder, its examples left in the order of the files."""

from tensorflow_datasets.image_classification.mnist import FashionMNIST

from paragone.data.builders.edition import OfEdition


class FashionMnistEdition(OfEdition, FashionMNIST):
    """60,000 and 10,000 images in the order of the official files."""
