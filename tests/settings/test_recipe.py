import pytest

from metamixup.engine.growth import sized
from metamixup.errors import UserError
from metamixup.models import check
from metamixup.settings.recipe import known_recipes, read_recipe
from metamixup.settings.resolve import resolve

SHAPES = {"cifar10": (3, 32), "mnist": (1, 28), "fashion": (1, 28)}


@pytest.mark.parametrize("name", known_recipes())
def test_every_recipe_makes_whole_settings_and_its_images_fit_its_model(name):
    settings = resolve(read_recipe(name))
    channels, side = SHAPES[settings.data]
    check(settings.model, 10, channels, side, [sized((side, side), height) for height in settings.augment.grow])
    assert not settings.augment.grow or settings.augment.grow[-1] == side


def test_every_recipe_says_in_its_first_line_what_it_is_for():
    assert {"cifar10-fast", "mnist-fast", "fashion-fast"} <= set(known_recipes())
    assert all(about.endswith(".") and "=" not in about for about in known_recipes().values())


def test_a_recipe_has_its_base_s_settings_beneath_its_own():
    base, own = read_recipe("cifar10-fast"), read_recipe("mnist-fast")
    assert "base" not in own
    assert own["optimizer.lr"] == base["optimizer.lr"]
    assert (own["data"], base["data"]) == ("mnist", "cifar10")


def test_an_unknown_recipe_is_answered_with_the_nearest():
    with pytest.raises(UserError, match="did you mean 'mnist-fast'"):
        read_recipe("mnist-fst")
