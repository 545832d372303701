import torch
import torch.nn.functional as F
from toys import batch, generator, net, step

from metamixup.methods.consistency import PiModel


def test_the_student_is_asked_twice():
    model, method = net(), PiModel(weight=20)
    data, mixture = step(method, model, batch())
    torch.testing.assert_close(data.guesses, model(data.u2).softmax(1).detach())
    loss = method.loss(model, data, mixture)["consistency"]
    logits = model(torch.cat([mixture.inputs(data.x), data.u]))[len(data.x) :]
    torch.testing.assert_close(loss, 20 * F.mse_loss(logits.softmax(1), data.guesses))


def test_only_labelled_samples_are_blended():
    data = PiModel().prepare(net(), batch(labelled=4), generator())
    assert len(PiModel().pairs(data, generator()).partner) == 4
