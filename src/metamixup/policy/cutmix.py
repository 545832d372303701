"""CutMix (Yun et al. 2019): a box of the partner is pasted in, and labels are blended by the area that is left."""

import torch
from torch import Tensor

from metamixup.errors import UserError
from metamixup.mixing import Mixture, Pairs
from metamixup.mixing.regions import paste
from metamixup.policy.beta import Beta


class CutMix(Beta):
    """λ ~ Beta(α, α) asks for a box of the area 1 − λ around a uniform centre; what leaves the image is cut off."""

    def mixture(self, lam: Tensor, pairs: Pairs, generator: torch.Generator) -> Mixture:
        if pairs.image_size is None:
            raise UserError(
                "CutMix pastes boxes into images, (B, channels, height, width), at the network's input; what is "
                "blended here is something else: choose policy 'beta'"
            )
        if self.per == "batch":
            centre = torch.rand(2, 1, generator=generator).expand(2, len(lam))
        else:
            centre = pairs.drawn(lambda n: torch.rand(2, n, generator=generator))
        return paste(lam, pairs.partner, centre.to(lam.device), pairs.image_size)
