import copy

import torch
from torch import nn
from toys import images, net

from metamixup.methods.batch_norm import frozen_statistics, predict


def test_quiet_pass_is_the_same_function_and_leaves_no_trace():
    model, (x, _) = net(), images(8, 1)
    before = copy.deepcopy(model.state_dict())
    silent = frozen_statistics(model)(x)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    silent.sum().backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    loud = model(x)
    loud.sum().backward()
    assert torch.equal(silent, loud)
    assert all(torch.equal(g, p.grad) for g, p in zip(gradients, model.parameters(), strict=True))
    assert int(model[1].num_batches_tracked) == 1


def test_a_wrapper_that_names_its_module_twice_is_quiet_too():
    class Wrapper(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.forward_module = self.original_module = module

        def forward(self, x):
            return self.forward_module(x)

    model = net()
    before = [id(tensor) for tensor in (*model.parameters(), *model.buffers())]
    frozen_statistics(Wrapper(model))(images(8, 1)[0])
    assert [id(tensor) for tensor in (*model.parameters(), *model.buffers())] == before
    assert int(model[1].num_batches_tracked) == 0


def test_a_compiled_net_is_quiet_in_its_plain_form():
    class Compiled:
        def __init__(self, plain):
            self.plain = plain

        def __call__(self, x):
            return self.plain(x)

    model = net()
    frozen_statistics(Compiled(model))(images(8, 1)[0])
    assert int(model[1].num_batches_tracked) == 0


def test_any_callable_serves():
    weight = torch.randn(16, 3)

    def linear(x):
        return x.flatten(1) @ weight

    x, _ = images(5, 1)
    assert frozen_statistics(linear) is linear
    torch.testing.assert_close(predict(linear, x).sum(1), torch.ones(5))


def test_predictions_carry_no_gradient():
    assert not predict(net(), images(4, 1)[0]).requires_grad
