"""Encoders: images and captions to vectors, through open_clip.

:meth:`Encoder.load` gives a CLIP by name, by checkpoint or the one trained on the
newsroom; its :meth:`~Encoder.encode_images` and :meth:`~Encoder.encode_texts` give
:class:`Encoded`: the vectors, and a ledger of what could not be encoded or was changed
on the way. torch is loaded with the first encoder.
"""

from verite.encoders.encoder import Encoder
from verite.encoders.items import Encoded
from verite.encoders.pictures import open_picture
from verite.encoders.weights import register_encoder

__all__ = ["Encoded", "Encoder", "open_picture", "register_encoder"]
