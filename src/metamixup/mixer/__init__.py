"""MetaMixUp for a training loop of one's own, with batches, meta sets and models as users have them."""

from metamixup.mixer.batches import Indexed
from metamixup.mixer.mixed import Mixed
from metamixup.mixer.mixer import MetaMixUp

__all__ = ["Indexed", "MetaMixUp", "Mixed"]
