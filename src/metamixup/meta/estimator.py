"""What an estimator of ∇λ is: the derivative, in each λ, of the meta loss after one virtual step."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from torch import Tensor, nn

from metamixup.mixing import Mixture
from metamixup.network import Net

Loss = Callable[[Net, Mixture], Tensor]  # of the training batch, blended by the mixture
MetaLoss = Callable[[Net], Tensor]  # of the meta batch


class Estimator(Protocol):
    def __call__(
        self, model: nn.Module, loss: Loss, meta_loss: MetaLoss, mixture: Mixture, eta: Mapping[str, float]
    ) -> Tensor:
        """∇λ of meta_loss(Φ(θ − η∇θ loss(Φ(θ), mixture))), (B,). The model is left as it was found."""
        ...


@runtime_checkable
class Stateful(Protocol):
    """An estimator that remembers something across steps; it is saved with the run."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...
