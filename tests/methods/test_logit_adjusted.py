import torch
from torch import nn

from metamixup.methods.logit_adjusted import LogitAdjusted
from metamixup.methods.method import Batch
from metamixup.mixing import Mixture


def test_the_loss_is_that_of_logits_shifted_by_the_classes_shares():
    method, net = LogitAdjusted(), nn.Linear(3, 2)
    method.count(torch.tensor([90, 10]))
    x, y = torch.randn(5, 3), torch.eye(2)[torch.tensor([0, 1, 1, 0, 1])]
    alone = Mixture(torch.ones(5), torch.arange(5))
    expected = nn.functional.cross_entropy(net(x) + torch.tensor([0.9, 0.1]).log(), y)
    torch.testing.assert_close(method.loss(net, Batch(x, y), alone)["supervised"], expected)


def test_a_rare_class_is_found_more_often_than_without():
    torch.manual_seed(0)
    x = torch.cat([torch.randn(190, 1) - 0.7, torch.randn(10, 1) + 0.7])
    y = torch.eye(2)[torch.tensor([0] * 190 + [1] * 10)]
    found = []
    for counts in (torch.tensor([190, 10]), torch.tensor([100, 100])):
        method, net = LogitAdjusted(), nn.Linear(1, 2)
        method.count(counts)
        optimizer = torch.optim.SGD(net.parameters(), 0.5)
        for _ in range(200):
            optimizer.zero_grad()
            method.loss(net, Batch(x, y), Mixture(torch.ones(200), torch.arange(200)))["supervised"].backward()
            optimizer.step()
        found.append(int(net(x).argmax(1)[190:].sum()))
    adjusted, plain = found
    assert adjusted > plain
