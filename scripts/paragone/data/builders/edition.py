"""What our builders share: the checksums of the chosen edition, and examples in file order."""

import hashlib
from dataclasses import dataclass, field

import tensorflow_datasets as tfds


@dataclass
class Edition(tfds.core.BuilderConfig):
    """One edition of a data set. checksums: URL -> (size in bytes, SHA-256, file name)."""

    checksums: dict[str, tfds.download.checksums.UrlInfo] = field(default_factory=dict)


def edition(source: dict, address: str) -> Edition:
    """The edition that `source` (source.json) describes.

    Its name carries a digest of its checksums: TFDS keeps prepared data by name alone.
    """
    digests = "".join(file["sha256"] for file in source["files"])
    return Edition(
        name=f"{source['edition']}-{hashlib.sha256(digests.encode()).hexdigest()[:8]}",
        checksums={
            f"{address}/{file['name']}": tfds.download.checksums.UrlInfo(
                size=file["bytes"], checksum=file["sha256"], filename=file["name"]
            )
            for file in source["files"]
        },
    )


class OfEdition:
    """Mix-in for a builder: checks the files of its `Edition` and keeps the original order."""

    builder_config: Edition

    @property
    def url_infos(self) -> dict[str, tfds.download.checksums.UrlInfo]:
        """The checksums that the download manager holds every file against."""
        return self.builder_config.checksums

    def _info(self) -> tfds.core.DatasetInfo:
        official = super()._info()  # type: ignore[misc]  # of the builder that it is mixed into
        return tfds.core.DatasetInfo(
            builder=self,
            description=official.description,
            features=official.features,
            supervised_keys=official.supervised_keys,
            homepage=official.homepage,
            citation=official.citation,
            disable_shuffling=True,
        )
