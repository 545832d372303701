"""The Lightning callback, in a real Trainer."""

import warnings

import lightning.pytorch as pl
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from metamixup import Indexed
from metamixup.errors import UserError
from metamixup.integrations.lightning import MetaMixUpCallback


class Module(pl.LightningModule):
    """As users write them: nothing here knows of mixing."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
        self.seen = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        self.seen.append((x.detach(), y.detach()))
        return cross_entropy(self(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def data(n, seed=0):
    generator = torch.Generator().manual_seed(seed)
    centres = 3 * torch.randn(3, 6, generator=torch.Generator().manual_seed(9))
    y = torch.randint(0, 3, (n,), generator=generator)
    return centres[y] + torch.randn(n, 6, generator=generator), y


def fit(callback, module=None, epochs=1, ckpt_path=None, dataset=None, **options):
    torch.manual_seed(0)
    module = module or Module()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning advises on workers and loggers
        trainer = pl.Trainer(
            max_epochs=epochs,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=callback,
            **options,
        )
        trainer.fit(module, DataLoader(dataset or TensorDataset(*data(96)), batch_size=32), ckpt_path=ckpt_path)
    return module, trainer


@pytest.mark.parametrize("estimator", ["head", "exact", "finite_difference"])
def test_training_step_is_given_blended_batches_and_learns(estimator):
    module, _ = fit(MetaMixUpCallback(data(30, seed=1), num_classes=3, estimator=estimator), epochs=8)
    x, y = module.seen[0]
    assert y.shape == (32, 3)
    assert ((y > 0.01) & (y < 0.99)).any()
    assert not torch.equal(x, data(96)[0][:32])
    module.eval()
    x, y = data(60, seed=2)
    assert (module(x).argmax(1) == y).float().mean() > 0.9


@pytest.mark.parametrize("source", ["dataset", "loader"])
def test_the_meta_set_may_be_a_dataset_or_a_loader(source):
    meta = TensorDataset(*data(30, seed=1))
    module, _ = fit(MetaMixUpCallback(meta if source == "dataset" else DataLoader(meta, batch_size=7), num_classes=3))
    assert len(module.seen) == 3


def test_blends_inside_the_model_and_names_a_submodule():
    callback = MetaMixUpCallback(data(30, seed=1), num_classes=3, module="net", mix_at="features")
    module, _ = fit(callback)
    assert torch.equal(module.seen[0][0], data(96)[0][:32])  # the inputs themselves stay as they are
    assert module.seen[0][1].shape == (32, 3)


def test_the_module_is_given_back_unwrapped():
    module, _ = fit(MetaMixUpCallback(data(30, seed=1), num_classes=3))
    assert module.training_step.__func__ is Module.training_step


def test_a_checkpoint_carries_the_state_of_the_mixer(tmp_path):
    callback = MetaMixUpCallback(data(30, seed=1), num_classes=3)
    whole, _ = fit(callback, epochs=2)
    first, trainer = fit(MetaMixUpCallback(data(30, seed=1), num_classes=3), epochs=1)
    trainer.save_checkpoint(tmp_path / "half.ckpt")
    rest, _ = fit(MetaMixUpCallback(data(30, seed=1), num_classes=3), epochs=2, ckpt_path=tmp_path / "half.ckpt")
    assert len(first.seen) == len(rest.seen) == 3
    for a, b in zip(whole.net.state_dict().values(), rest.net.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_bfloat16_and_accumulated_gradients():
    def trained(**options):
        callback = MetaMixUpCallback(data(30, seed=1), num_classes=3)
        module, trainer = fit(callback, epochs=8, **options)
        return module, trainer, callback.mixer

    module, trainer, mixer = trained(precision="bf16-mixed", accumulate_grad_batches=2)
    assert (mixer.stage.steps, trainer.global_step) == (24, 16), "every batch is blended, every second one a step"
    assert mixer.stage.ignored == 0
    assert not torch.equal(module.net[0].weight, trained(accumulate_grad_batches=2)[0].net[0].weight)
    x, y = data(60, seed=2)
    assert (module.eval()(x).argmax(1) == y).float().mean() > 0.9, "a third by chance"


def test_the_index_of_a_batch_of_three_is_passed_and_the_step_sees_two():
    callback = MetaMixUpCallback(data(30, seed=1), num_classes=3)
    module, _ = fit(callback, epochs=2, dataset=Indexed(TensorDataset(*data(96))))
    assert module.seen[0][1].shape == (32, 3)
    assert callback.mixer.stage.every == 4
    visits = callback.mixer.stage.labels.samples.visits
    assert int(visits.sum()) > 96, "more than by every other batch that is looked at"
    assert callback.mixer.stage.heard > 0, "own passes tell besides"


def test_batches_may_be_dictionaries():
    class Named(Module):
        def training_step(self, batch, batch_idx):
            return super().training_step((batch["features"], batch["labels"]), batch_idx)

    x, y = data(96)
    rows = [{"file": "a.jpg", "features": a, "labels": b} for a, b in zip(x, y, strict=True)]
    module, _ = fit(MetaMixUpCallback(data(30, seed=1), num_classes=3, module="net"), Named(), dataset=rows)
    assert module.seen[0][1].shape == (32, 3)


def test_says_what_it_cannot_blend():
    class Three(Module):
        def training_step(self, batch, batch_idx):
            raise AssertionError

    callback = MetaMixUpCallback(data(30, seed=1), num_classes=3)
    trainer = pl.Trainer(logger=False, enable_checkpointing=False, callbacks=callback, enable_progress_bar=False)
    module = Three()
    loader = DataLoader([{"x": torch.zeros(6), "class": 0}], batch_size=1)
    warnings.simplefilter("ignore")  # pytest puts the filters back
    with pytest.raises(UserError, match="has no labels"):
        trainer.fit(module, loader)
    with pytest.raises(UserError, match="meta set is empty"):
        fit(MetaMixUpCallback((torch.zeros(0, 6), torch.zeros(0)), num_classes=3))
