"""Every file of every data set: where it lies, where it comes from and what it must be.

URLs carry a commit, so what they give cannot change; where the publisher's own bytes
were at hand their SHA-256 is pinned too. A file without a URL is one that its publisher
gives on request, or that a user makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["FILES", "NEWSCLIPPINGS", "DataFile"]

_GITHUB = "https://raw.githubusercontent.com"
_VERITE = f"{_GITHUB}/stevejpapad/image-text-verification/fee01f0d2e4d2a4fb918a0ab0e1dd2c48ed7067e/VERITE"
_FIGMENTS = f"{_GITHUB}/stevejpapad/image-text-verification/0a8087c69dec6437eaa574c27d2da93c7687861d/FIGMENTS"
_EVIDENCE = f"{_GITHUB}/stevejpapad/relevant-evidence-detection/493ed7eab9d42ffeebb5bda7f7101fe8c58f9dea/data/VERITE"
_CORPUS = f"{_GITHUB}/MKLab-ITI/image-verification-corpus"


_MEIR = f"{_GITHUB}/Ekraam/MEIR/ae470ec4bccb8843668b17a1b45799d5cead7ae7/dataset"

NEWSCLIPPINGS = (
    "merged_balanced",
    "semantics_clip_text_text",
    "semantics_clip_text_image",
    "person_sbert_text_text",
    "scene_resnet_place",
)
"""The publisher's subsets of NewsCLIPpings, by what images were found with."""


@dataclass(frozen=True)
class DataFile:
    """One file: its path below the data folder and, where it can be fetched, how."""

    path: str
    url: str = ""
    """Empty where the file cannot be fetched."""
    sha256: str = ""
    """Empty where the publisher's bytes are not known.

    The commit in the URL pins them then.
    """
    size: int = 0
    """Bytes; 0 where not known."""


_VISUALNEWS = DataFile("visualnews/origin/data.json")

FILES: Mapping[str, tuple[DataFile, ...]] = {
    "verite": (
        DataFile(
            "verite/VERITE.csv",
            f"{_VERITE}/VERITE.csv",
            "7f5661860f2e34624c1721710ed37fac5e1e78a4307400530dd587cb0d15a040",
            162_347,
        ),
        DataFile(
            "verite/VERITE_articles.csv",
            f"{_VERITE}/VERITE_articles.csv",
            "add4059c43dd796d512d9489358923263110a5e9430f1ea930dee0dfa5bc2197",
            184_717,
        ),
        DataFile(
            "verite/VERITE_clip_image_embeddings_ViTL14.npy",
            f"{_VERITE}/VERITE_clip_image_embeddings_ViTL14.npy",
            "db01def1697a8e5cf87a8a906149ed4dfcedda96341ef4f35c146a8955c587f3",
            3_075_200,
        ),
        DataFile(
            "verite/VERITE_clip_text_embeddings_ViTL14.npy",
            f"{_VERITE}/VERITE_clip_text_embeddings_ViTL14.npy",
            "1dc8af9ef62edee3346eb5cdd3bfbb027bf2ee0212bb1df73654caef3773b06d",
            3_075_200,
        ),
        DataFile(
            "verite/VERITE_clip_image_embeddings_ViTB32.npy",
            f"{_EVIDENCE}/VERITE_clip_image_embeddings_ViTB32.npy",
            "8afb3db9161c97bc2fd1fe35424f3ca803276f68bb989968038a48c35e4ea0a2",
            2_050_176,
        ),
        DataFile(
            "verite/VERITE_clip_text_embeddings_ViTB32.npy",
            f"{_EVIDENCE}/VERITE_clip_text_embeddings_ViTB32.npy",
            "f283fea9804a1a8e45908b47f75196b3021a0be58361b62e64c220259a968fb1",
            2_050_176,
        ),
        DataFile(
            "figments/FIGMENTS.csv",
            f"{_FIGMENTS}/FIGMENTS.csv",
            "da2903ce9a8ad33b036ac745c6f49d8be604b5a8c6dd6a974b4402812c8bf7cf",
            162_036,
        ),
        DataFile(
            "figments/FIGMENTS_clip_image_embeddings_ViTL14.npy",
            f"{_FIGMENTS}/FIGMENTS_clip_image_embeddings_ViTL14.npy",
            "2631728e90beed435fe5a93d834554d6c747ca587d5570af3410f2b12c72ee33",
            1_536_128,
        ),
        DataFile(
            "figments/FIGMENTS_clip_text_embeddings_ViTL14.npy",
            f"{_FIGMENTS}/FIGMENTS_clip_text_embeddings_ViTL14.npy",
            "c03aaee220e0baaf3ea6ccf4fefaa9fffd0f6497de72ffb3fe54285feafe390e",
            1_536_128,
        ),
    ),
    "verite-evidence": (
        DataFile(
            "verite-evidence/VERITE_with_evidence.csv",
            f"{_EVIDENCE}/VERITE_with_evidence.csv",
            "470df1b62a41add1fe1cdc516e1732d4bff0776bef5c872ee3271e2913c560da",
            1_374_246,
        ),
    ),
    "vmu-twitter": (
        DataFile(
            "vmu-twitter/mediaeval2015/devset/tweets.txt",
            f"{_CORPUS}/43b8c39a789691a715695f7f0a93915117024589/mediaeval2015/devset/tweets.txt",
        ),
        DataFile(
            "vmu-twitter/mediaeval2015/testset/tweets.txt",
            f"{_CORPUS}/22884cfe116d117e68f3c548535920de4ac71d19/mediaeval2015/testset/tweets.txt",
        ),
        DataFile(
            "vmu-twitter/mediaeval2016/devset/posts.txt",
            f"{_CORPUS}/97149e34f7e0094d8e2d0f3b1c52c165b3f11de5/mediaeval2016/devset/posts.txt",
        ),
        DataFile(
            "vmu-twitter/mediaeval2016/testset/posts_groundtruth.txt",
            f"{_CORPUS}/93bd70abc84b1ab82f30bac8254eed7d755240bb/mediaeval2016/testset/posts_groundtruth.txt",
        ),
        DataFile("vmu-twitter/images_available.txt"),
    ),
    "cosmos": (DataFile("cosmos/test_data.json"),),
    "fakeddit": (
        DataFile("fakeddit/multimodal_train.tsv"),
        DataFile("fakeddit/multimodal_validate.tsv"),
        DataFile("fakeddit/multimodal_test_public.tsv"),
    ),
    "visualnews": (_VISUALNEWS,),
    "newsclippings": (
        _VISUALNEWS,
        *(
            DataFile(f"newsclippings/data/{subset}/{part}.json")
            for subset in NEWSCLIPPINGS
            for part in ("train", "val", "test")
        ),
        DataFile("newsclippings/context_newsclippings_test.json"),
    ),
    "meir": (
        DataFile("meir/reference_dataset.json"),
        DataFile("meir/manipulated_dataset.json"),
        DataFile("meir/manipulation_log.json"),
        DataFile("meir/manipulated_train_id.txt", f"{_MEIR}/manipulated_train_id.txt"),
        DataFile("meir/manipulated_dev_id.txt", f"{_MEIR}/manipulated_dev_id.txt"),
        DataFile("meir/manipulated_test_id.txt", f"{_MEIR}/manipulated_test_id.txt"),
    ),
    "averitec": (DataFile("averitec/dev.json"),),
    "averimatec": (
        DataFile("averimatec/train.json"),
        DataFile("averimatec/val.json"),
        DataFile("averimatec/test.json"),
    ),
}
"""By the name to fetch them under.

``verite-evidence``, ``averitec`` and ``averimatec`` hold no pairs:
:mod:`verite.datasets.evidence` and
:func:`averimatec.read_claims` read them."""
