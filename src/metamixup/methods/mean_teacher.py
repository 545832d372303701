"""Mean Teacher (Tarvainen and Valpola, 2017): an average of the student's weights guesses, and is evaluated."""

from torch import Tensor, nn

from metamixup.methods.batch_norm import predict
from metamixup.methods.blocks import joined
from metamixup.methods.consistency import Consistency
from metamixup.methods.ema import EMA
from metamixup.methods.method import Batch
from metamixup.methods.ramp import Ramp


class MeanTeacher(Consistency):
    def __init__(self, weight: float = 8.0, decay: float = 0.95, ramp: Ramp | None = None, warmup: bool = True):
        super().__init__(weight, ramp)
        self.decay, self.warmup = decay, warmup

    def setup(self, model: nn.Module) -> None:
        self.teacher = EMA(model, self.decay, self.warmup)

    def modules(self) -> dict[str, nn.Module]:
        return {"teacher": self.teacher.module}

    def guess(self, model: nn.Module, batch: Batch) -> Tensor:
        return predict(self.teacher.module.train(), joined(batch.u2))

    def after_step(self, model: nn.Module, batch: Batch) -> None:
        self.teacher.update(model, batch.step)

    def evaluated(self, model: nn.Module) -> tuple[str, nn.Module]:
        return "teacher", self.teacher.module
