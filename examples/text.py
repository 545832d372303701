"""Text: which page of Python's own manual do sixteen words come from? Token embeddings are blended, then attention
reads them.

The corpus is `pydoc_data.topics`, which comes with Python; another version of Python has slightly other texts. Words of
a page's even windows are trained on, those of its odd ones tested, and no window overlaps another.

    python examples/text.py            # five seeds, about four minutes on one core
    python examples/text.py --quick
"""

import re
from dataclasses import replace
from functools import partial
from pydoc_data.topics import topics

import torch
from comparison import Pair, Task, main
from torch import Tensor, nn

PAGES = ("debugger", "formatstrings", "string-methods", "compound", "import", "assignment", "typesseq", "comparisons")
WORDS, VOCABULARY, TRAIN = 16, 1000, 800
ADAM = partial(torch.optim.AdamW, lr=3e-3, weight_decay=0.01)


def windows(page: str) -> list[list[str]]:
    words = re.findall(r"[a-z_]+|[^\sa-z_]", topics[page].lower())
    return [words[i : i + WORDS] for i in range(0, len(words) - WORDS + 1, WORDS)]


def corpus() -> tuple[Pair, Pair]:
    """(tokens, page) of the even and of the odd windows. tokens: (N, WORDS); 0 stands for rare words."""
    pages = [windows(page) for page in PAGES]
    counts: dict[str, int] = {}
    for word in (word for page in pages for window in page[::2] for word in window):
        counts[word] = counts.get(word, 0) + 1
    common = sorted(counts, key=lambda word: (-counts[word], word))[: VOCABULARY - 1]
    number = {word: i + 1 for i, word in enumerate(common)}

    def part(first: int) -> Pair:
        rows = [(window, label) for label, page in enumerate(pages) for window in page[first::2]]
        tokens = torch.tensor([[number.get(word, 0) for word in window] for window, _ in rows])
        return tokens, torch.tensor([label for _, label in rows])

    return part(0), part(1)


def draw(seed: int) -> tuple[Pair, Pair]:
    (x, y), test = corpus()
    rows = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[:TRAIN]
    return (x[rows], y[rows]), test


class Transformer(nn.Module):
    """Embeddings of words and places, one layer of attention, the mean over the words, a classifier."""

    def __init__(self, width: int = 32):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.place = nn.Parameter(0.02 * torch.randn(WORDS, width))
        self.attend = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.1, batch_first=True)
        self.classify = nn.Linear(width, len(PAGES))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.classify(self.attend(self.embed(tokens) + self.place).mean(1))


TEXT = Task("text, 800 windows", draw, Transformer, len(PAGES), mix_at="embed", epochs=60, optimizer=ADAM)
TASKS = [TEXT, replace(TEXT, name="the same, 40 % wrong labels", wrong=0.4)]

if __name__ == "__main__":
    main(TASKS)
