"""Cats vs dogs: the official builder, for the official file and for subsets of it listed in the config."""

import io
from collections.abc import Iterator

import tensorflow_datasets as tfds
from tensorflow_datasets.image_classification.cats_vs_dogs import CatsVsDogs

from paragone.data.images import check_pixels

OFFICIAL_FILE = "kagglecatsanddogs_5340.zip"
PEEK = 512  # bytes in which the official code finds JFIF: all that `ZipExtFile.peek` gives it


class CatsVsDogsEdition(CatsVsDogs, skip_registration=True):  # type: ignore[call-arg]  # of TFDS
    """JPEG images of varying size, re-encoded by the official builder's code."""

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict:
        (url,) = self.url_infos
        archive = dl_manager.iter_archive(dl_manager.download(url))
        return {"train": self._generate_examples(archive, url.endswith(OFFICIAL_FILE))}

    def _generate_examples(self, archive: Iterator, official: bool) -> Iterator:
        try:
            yield from super()._generate_examples(_bounded(archive))
        except ValueError as error:
            # The official code finally requires the 1,738 unreadable files of the official archive. A subset,
            # whose checksum is known, has fewer.
            if official or "corrupt images" not in str(error):
                raise


def _bounded(archive: Iterator) -> Iterator:
    """Yield the files of an archive. Raises `UserError` for an image of too many pixels."""
    for name, file in archive:
        content = file.read()
        if b"JFIF" in content[:PEEK]:  # the official code skips the others
            check_pixels(content, name)
        yield name, io.BufferedReader(io.BytesIO(content), PEEK)


BUILDER = CatsVsDogsEdition
