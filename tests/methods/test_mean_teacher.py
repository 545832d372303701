import torch
from toys import batch, generator, net, trained

from metamixup.methods.mean_teacher import MeanTeacher


def test_the_teacher_guesses_and_is_evaluated():
    method, student = MeanTeacher(), net()
    method.setup(trained())
    teacher = method.modules()["teacher"]
    data = method.prepare(student, batch(), generator())
    torch.testing.assert_close(data.guesses, teacher(data.u2).softmax(1).detach())
    assert method.evaluated(student) == ("teacher", teacher)


def test_guesses_use_the_batchs_statistics_even_after_an_evaluation():
    method = MeanTeacher()
    method.setup(trained())
    first = method.prepare(net(), batch(), generator()).guesses
    method.evaluated(net())[1].eval()
    assert torch.equal(method.prepare(net(), batch(), generator()).guesses, first)


def test_the_teacher_follows_the_student():
    method, student = MeanTeacher(decay=0.5, warmup=False), net()
    method.setup(student)
    start = student[0].weight.detach().clone()
    with torch.no_grad():
        student[0].weight += 1
    method.after_step(student, batch())
    torch.testing.assert_close(method.modules()["teacher"][0].weight, start + 0.5)
