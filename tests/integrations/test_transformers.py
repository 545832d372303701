"""transformers' own Trainer on tiny models that are made here, of images and of text."""

import warnings

import pytest
import torch
from torch.utils.data import Dataset

transformers = pytest.importorskip("transformers")

from metamixup.integrations.transformers import Trainer  # noqa: E402


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


def trained(model, train, meta, tmp_path, **options) -> Trainer:
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        num_train_epochs=12,
        per_device_train_batch_size=16,
        learning_rate=5e-3,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=train, meta_dataset=meta, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice on workers
        trainer.train()
    return trainer


@pytest.mark.parametrize(("make", "data", "point"), [(vit, images, None), (bert, texts, "word_embeddings")])
def test_it_learns_by_pixels_and_by_embeddings(make, data, point, tmp_path):
    trainer = trained(make(), data(96, 0), data(24, 1), tmp_path)
    mixer = trainer._mixer
    assert type(mixer.stage).__name__ == "Trust"
    assert mixer.stage.every == 4, "the index of the samples is passed"
    assert int((mixer.stage.samples.visits > 0).sum()) > 48
    assert mixer.mix_at.endswith(point or "input")
    found = trainer.predict(data(30, 2))
    assert (torch.tensor(found.predictions).argmax(1) == torch.tensor(found.label_ids)).float().mean() > 0.8


def test_without_a_meta_set_and_with_another_policy(tmp_path):
    trainer = trained(vit(), images(48, 0), None, tmp_path, mixing={"policy": "beta"})
    assert trainer._mixer.meta is None
