import torch

from metamixup.audit.duplicates import duplicates


def test_copies_with_another_label_are_found_and_those_with_the_same_are_not():
    images = torch.randint(256, (40, 3, 32, 32), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    labels = torch.arange(40) % 4
    images[7], images[9] = images[2], images[1]
    images[9, :, :2] = (images[9, :, :2].int() + 3).clamp(0, 255).byte()
    images[13] = images[5]
    assert labels[13] == labels[5]
    assert set(duplicates(images, labels)) == {(2, 7)} if labels[9] == labels[1] else {(2, 7), (1, 9)}


def test_plain_images_are_no_copies_of_each_other():
    assert duplicates(torch.zeros(100, 1, 16, 16), torch.arange(100) % 2) == []
