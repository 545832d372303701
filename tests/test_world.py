import pytest
import torch
from ranks import together

from metamixup import world
from metamixup.errors import UserError
from metamixup.mixing import draw_partners, own_partners


def test_alone_everything_is_given_back():
    x = torch.randn(3, 2)
    assert (world.size(), world.rank(), world.leads()) == (1, 0, True)
    assert all(torch.equal(f(x), x) for f in (world.mean, world.total, world.largest, world.gathered, world.part))
    assert world.global_positions([3]) is None
    assert world.any_of(True, False) == [True, False]
    assert world.agreed(lambda: {"a": 1}) == {"a": 1}


def collectives():
    rank = world.rank()
    mine = torch.full((rank, 2), float(rank))  # the first has no rows
    try:
        world.agreed(lambda: _refuse())
        told = ""
    except UserError as error:
        told = str(error)
    return {
        "gathered": world.gathered(mine if rank else torch.zeros(0, 0)),
        "mean": world.mean(torch.tensor([float(rank), 1.0])),
        "all": world.mean_all({"a": torch.full((2, 2), float(rank)), "b": torch.tensor(3.0 * rank).double()}),
        "any": world.any_of(rank == 1, False),
        "agreed": world.agreed(lambda: {"from": rank}),
        "nothing": len(world.from_leader(lambda: b"")),
        "places": world.global_positions([2, 1]),
        "part": world.part(torch.arange(6)),
        "partners": own_partners([4, 2], torch.Generator().manual_seed(5)),
        "told": told,
    }


def _refuse():
    raise UserError("no")


def test_three_processes_agree(tmp_path):
    found = together(3, tmp_path, collectives)
    for each in found:
        assert each["gathered"].tolist() == [[1.0, 1.0], [2.0, 2.0], [2.0, 2.0]]
        assert each["mean"].tolist() == [1.0, 1.0]
        assert each["all"]["a"].eq(1).all()
        assert each["all"]["b"] == 3
        assert each["any"] == [True, False]
        assert each["agreed"] == {"from": 0}
        assert each["told"] == "no"
        assert each["nothing"] == 0
    assert [each["places"].tolist() for each in found] == [[0, 1, 6], [2, 3, 7], [4, 5, 8]]
    assert [each["part"].tolist() for each in found] == [[0, 1], [2, 3], [4, 5]]
    # One process with three parts pairs the same samples.
    whole = draw_partners([12, 6], torch.Generator().manual_seed(5), parts=3)
    places = [torch.cat([r * 4 + torch.arange(4), 12 + r * 2 + torch.arange(2)]) for r in range(3)]
    for each, own in zip(found, places, strict=True):
        assert torch.equal(own[each["partners"]], whole[own])


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_parts_keep_to_themselves(parts):
    partner = draw_partners([8, 4], torch.Generator().manual_seed(0), parts)
    part = torch.cat([torch.arange(8) * parts // 8, 10 + torch.arange(4) * parts // 4])
    assert torch.equal(part[partner], part)
    assert torch.equal(partner.sort().values, torch.arange(12))
