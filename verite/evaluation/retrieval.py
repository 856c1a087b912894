"""How well an encoder finds the caption of an image, and the image of a caption."""

from __future__ import annotations

import numpy as np

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError

__all__ = ["recall_at"]


def recall_at(
    images: Embeddings, texts: Embeddings, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Whether the partner is among the ``k`` nearest, for each image and for each
    caption.

    Image and caption of one pair have the same id. Nearness is the cosine. Of equally
    near candidates those that are no partner count as nearer, so vectors that are all
    alike score nothing.

    Parameters
    ----------
    images, texts
        ``n`` vectors each, of the same ids in any order.
    k
        1 or more. By chance ``k / n`` are found.

    Returns
    -------
    tuple of numpy.ndarray
        For each id of ``images``, in that order: whether the image finds its caption,
        and whether the caption finds its image. Shapes ``(n,)``; the mean is recall at
        k.

    Raises
    ------
    DataError
        The ids or the encoders differ.
    ParameterError
        ``k`` is below 1.

    >>> V = Embeddings(["a", "b"], np.eye(2, dtype=np.float32), encoder="toy")
    >>> T = Embeddings(["a", "b"], np.array([[1, 0], [2, 1]], dtype=np.float32), encoder="toy")
    >>> [found.tolist() for found in recall_at(V, T, k=1)]
    [[True, True], [True, False]]
    """
    if k < 1:
        raise ParameterError(f"expected k of 1 or more, found {k}.")
    if set(images.ids) != set(texts.ids):
        odd = sorted(set(images.ids) ^ set(texts.ids))
        raise DataError(
            f"{images.where} and {texts.where}: {len(odd):,} ids stand on one side"
            f" only, such as {odd[0]}."
        )
    if images.encoder != texts.encoder:
        raise DataError(
            f"images were encoded by {images.encoder!r}, texts by {texts.encoder!r}."
            " Encode both with one model."
        )
    V, T = images.normalised().rows(images.ids), texts.normalised().rows(images.ids)
    cosine = V @ T.T
    partner = np.diag(cosine)
    others = ~np.eye(len(cosine), dtype=bool)
    to_text = ((cosine >= partner[:, None]) & others).sum(axis=1) < k
    to_image = ((cosine >= partner[None, :]) & others).sum(axis=0) < k
    return to_text, to_image
