"""transformers' own Trainer on tiny models that are made here, of images and of text."""

import warnings
from copy import deepcopy

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import Dataset

transformers = pytest.importorskip("transformers")

from metamixup import Beta, MetaMixUp  # noqa: E402
from metamixup.errors import UserError  # noqa: E402
from metamixup.integrations.transformers import Trainer  # noqa: E402
from metamixup.trust import Trust  # noqa: E402


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def images(n: int, seed: int) -> Rows:
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 3
    x = 0.3 * torch.randn(n, 3, 8, 8, generator=generator)
    x[torch.arange(n), y] += 1
    return Rows(
        [{"pixel_values": a, "labels": int(b), "file": "unknown to the model"} for a, b in zip(x, y, strict=True)]
    )


def texts(n: int, seed: int) -> Rows:
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 3
    rows = []
    for label in y.tolist():
        length = 4 + int(torch.randint(0, 4, (), generator=generator))
        words = torch.randint(10 * label + 1, 10 * label + 10, (length,), generator=generator)
        rows.append({"input_ids": words.tolist() + [0] * (8 - length), "label": label})
        rows[-1]["attention_mask"] = [1] * length + [0] * (8 - length)
    return Rows(rows)


def vit():
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.ViTConfig(image_size=8, patch_size=4, num_labels=3, **sizes)
    return transformers.ViTForImageClassification(config)


def bert():
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=40, max_position_embeddings=8, num_labels=3, **sizes)
    return transformers.BertForSequenceClassification(config)


def made(train, meta, folder, arguments=None, **options) -> Trainer:
    settings = {
        "num_train_epochs": 12,
        "per_device_train_batch_size": 16,
        "learning_rate": 5e-3,
        "save_strategy": "no",
        **(arguments or {}),
    }
    given = transformers.TrainingArguments(str(folder), report_to=[], use_cpu=True, disable_tqdm=True, **settings)
    return Trainer(args=given, train_dataset=train, meta_dataset=meta, **options)


def run(trainer: Trainer, **options) -> Trainer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice on workers
        trainer.train(**options)
    return trainer


def trained(model, train, meta, tmp_path, **options) -> Trainer:
    return run(made(train, meta, tmp_path, model=model, **options))


@pytest.mark.parametrize(("make", "data", "point"), [(vit, images, None), (bert, texts, "word_embeddings")])
def test_it_learns_by_pixels_and_by_embeddings(make, data, point, tmp_path):
    trainer = trained(make(), data(96, 0), data(24, 1), tmp_path)
    mixer = trainer._mixer
    assert type(mixer.stage).__name__ == "Trust"
    assert mixer.stage.every == 4, "the index of the samples is passed"
    assert int((mixer.stage.labels.samples.visits > 0).sum()) > 48
    assert mixer.mix_at.endswith(point or "input")
    found = trainer.predict(data(30, 2))
    assert (torch.tensor(found.predictions).argmax(1) == torch.tensor(found.label_ids)).float().mean() > 0.8


def test_without_a_meta_set_and_with_another_policy(tmp_path):
    trainer = trained(vit(), images(48, 0), None, tmp_path, mixing={"policy": "beta"})
    assert trainer._mixer.meta is None


def test_each_model_that_the_trainer_makes_has_a_mixer_of_its_own(tmp_path):
    trainer = run(made(images(48, 0), None, tmp_path, {"num_train_epochs": 2}, model_init=vit))
    assert trainer._mixer.model is trainer.model
    first = trainer._mixer
    assert run(trainer)._mixer is not first


def test_accumulated_gradients_are_those_of_the_whole_batch(tmp_path):
    def norm(accumulated: int) -> float:
        arguments = {
            "max_steps": 1,
            "per_device_train_batch_size": 32 // accumulated,
            "gradient_accumulation_steps": accumulated,
            "logging_steps": 1,
        }
        trainer = run(
            made(images(96, 0), None, tmp_path, arguments, model=vit(), mixing={"policy": Beta(1.0, share=0)})
        )
        return trainer.state.log_history[0]["grad_norm"]

    assert norm(4) == pytest.approx(norm(1), rel=1e-3)


def test_smoothed_labels_are_those_of_the_arguments_and_a_loss_of_ones_own_is_refused(tmp_path):
    trainer = made(images(16, 0), None, tmp_path, {"label_smoothing_factor": 0.3}, model=vit())
    batch = trainer.data_collator([trainer.train_dataset[i] for i in range(16)])
    trainer.create_optimizer()
    loss, outputs = trainer.compute_loss(trainer.model.train(), batch, return_outputs=True)
    torch.manual_seed(0)
    mixed = MetaMixUp(trainer.model, 3, seed=trainer.args.seed)(dict(batch), lr=trainer.optimizer)
    assert torch.allclose(loss, cross_entropy(outputs.logits, mixed.y, label_smoothing=0.3))
    with pytest.raises(UserError, match="leave out compute_loss_func"):
        made(images(16, 0), None, tmp_path, model=vit(), compute_loss_func=cross_entropy)
    with pytest.raises(UserError, match="leave out 'loss'"):
        made(images(16, 0), None, tmp_path, model=vit(), mixing={"loss": cross_entropy})


def test_lambda_is_learned_by_the_smoothed_loss_too(tmp_path):
    arguments, mixing = {"label_smoothing_factor": 0.3}, {"policy": "learned"}
    trainer = made(images(16, 0), images(12, 1), tmp_path, arguments, model=vit(), mixing=mixing)
    batch = trainer.data_collator([trainer.train_dataset[i] for i in range(16)])
    trainer.create_optimizer()
    trainer.compute_loss(trainer.model.train(), dict(batch))
    mixer = trainer._mixer
    assert not isinstance(mixer.stage, Trust)
    outputs, targets = trainer.model(batch["pixel_values"]), torch.eye(3)[batch["labels"]]
    assert torch.allclose(mixer._loss(outputs, targets), cross_entropy(outputs.logits, targets, label_smoothing=0.3))


def test_a_state_from_another_device_is_read_on_the_cpu(tmp_path, monkeypatch):
    arguments = {"max_steps": 2, "save_steps": 1, "save_strategy": "steps"}
    trainer = run(made(images(48, 0), None, tmp_path, arguments, model=vit()))
    state, load, places = tmp_path / "checkpoint-1" / "mixer.pt", torch.load, []

    def watched(file, *args, **options):
        places.extend([options.get("map_location")] if file == state else [])
        return load(file, *args, **options)

    monkeypatch.setattr(torch, "load", watched)
    run(trainer, resume_from_checkpoint=str(state.parent))
    assert places == ["cpu"]


@pytest.mark.parametrize("same", [True, False])
def test_a_run_that_goes_on_from_a_checkpoint_keeps_what_the_mixer_learned(same, tmp_path):
    arguments = {"num_train_epochs": 4, "save_strategy": "epoch"}
    whole = run(made(texts(96, 0), texts(24, 1), tmp_path, arguments, model=bert()))
    theirs = {name: value.clone() for name, value in whole.model.named_parameters()}
    state = deepcopy(whole._mixer.state_dict())
    again = whole if same else made(texts(96, 0), texts(24, 1), tmp_path, arguments, model=bert())
    run(again, resume_from_checkpoint=str(tmp_path / "checkpoint-12"))
    assert again._mixer.stage.steps == state["stage"]["steps"] == 24
    mine = dict(again.model.named_parameters())
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)
    assert again._mixer.meta.steps == state["meta"]
    assert torch.equal(again._mixer.stage.labels.samples.log_p, state["stage"]["labels"]["samples"]["log_p"])
