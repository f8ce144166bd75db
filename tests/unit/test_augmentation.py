"""Shifts and flips, against an independent implementation and their own distribution."""

import numpy as np
import pytest
from scipy import ndimage

from paragone.config.run_spec import Augmentation
from paragone.data.augmentation import augment, draw
from paragone.data.random_streams import generator

RANDOM = np.random.default_rng(0)
BOTH = Augmentation(shift=0.2, flip=True)


def by_scipy(image: np.ndarray, down: float, right: float, flip: float) -> np.ndarray:
    """One (height, width, channels) image by SciPy's spline of order 1, the edge repeated."""
    height, width, _ = image.shape
    distances = (-down * height, -right * width, 0)  # SciPy moves the content, not the window
    shifted = ndimage.shift(image.astype(np.float64), distances, order=1, mode="nearest")
    return shifted[:, ::-1] if flip else shifted


@pytest.mark.parametrize("shape", [(28, 28, 1), (9, 14, 3), (1, 5, 1)], ids=str)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_images_are_those_of_scipy(shape, dtype):
    images = RANDOM.integers(0, 256, (40, *shape)).astype(dtype)
    before = images.copy()
    drawn = draw(40, Augmentation(0.5, True), np.random.default_rng(1))
    assert 5 < drawn[:, 2].sum() < 35
    augmented = augment(images, drawn)
    assert np.array_equal(images, before)
    assert (augmented.dtype, augmented.shape) == (np.float32, images.shape)
    assert augmented.flags.c_contiguous
    for image, by, made in zip(images, drawn, augmented, strict=True):
        np.testing.assert_allclose(made, by_scipy(image, *by), atol=2e-3)


def test_half_a_pixel_is_the_mean_of_two_and_a_flip_is_left_and_right():
    image = np.array([0, 10, 40, 90], np.uint8).reshape(1, 1, 4, 1)
    for by, expected in (((0, 0.125, 0), [5, 25, 65, 90]), ((0, 0, 1), [90, 40, 10, 0])):
        assert augment(image, np.array([by])).ravel().tolist() == expected


def test_draws_fill_their_range_and_flip_every_second():
    drawn = draw(20_000, BOTH, np.random.default_rng(2))
    assert drawn.shape == (20_000, 3)
    for shifts in drawn.T[:2]:
        assert -0.2 <= shifts.min() < -0.199
        assert 0.199 < shifts.max() <= 0.2
        assert shifts.std() == pytest.approx(0.4 / np.sqrt(12), rel=0.02)
    assert set(drawn[:, 2]) == {0.0, 1.0}
    assert drawn[:, 2].mean() == pytest.approx(0.5, abs=0.015)
    assert np.abs(np.corrcoef(drawn.T) - np.eye(3)).max() < 0.03
    for options in (Augmentation(0.0, True), Augmentation(0.3, False)):
        drawn = draw(1000, options, np.random.default_rng(3))
        assert drawn[:, :2].any() == bool(options.shift)
        assert drawn[:, 2].any() == options.flip


def test_draws_stay_what_they_were():
    """Records of other days were made with these."""
    (first,) = draw(1, BOTH, generator("augmentation", 0, 1))
    assert first.tolist() == pytest.approx(
        [-0.044407454893282294, -0.06389736221972364, 1], abs=1e-15
    )
