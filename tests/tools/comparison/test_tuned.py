from compared import records, tasks

from tools.comparison.tuned import tuned


def chosen(*lines, family="mixup"):
    return tuned(tasks([line for some in lines for line in some])[0], family)


def test_the_selection_set_chooses_and_not_the_test_set():
    best = chosen(
        records("clean0", "mixup", [1.0, 1.0], selection_error=[5.0, 5.0]),
        records("clean0", "mixup-0.5", [9.0, 9.0], selection_error=[4.0, 5.5]),
    )
    assert (best.method, best.alpha, best.seeds, best.untried) == ("mixup-0.5", "α = 0.5", (0, 1), ())


def test_only_seeds_that_all_have_are_counted():
    best = chosen(
        records("clean0", "mixup", [1.0, 1.0, 1.0], selection_error=[5.0, 5.0, 0.0]),
        records("clean0", "mixup-0.5", [1.0, 1.0, None], selection_error=[4.0, 4.0, 0.0]),
    )
    assert (best.method, best.seeds) == ("mixup-0.5", (0, 1))
    assert best.errors == {"mixup-0.5": 4.0, "mixup": 5.0}


def test_an_alpha_without_runs_is_named():
    best = chosen(records("clean0", "mixup", [1.0]))
    assert (best.method, best.untried) == ("mixup", ("α = 0.5",))
    assert chosen() is None


def test_without_a_shared_seed_the_one_with_fewer_seeds_is_left_out():
    best = chosen(records("clean0", "mixup", [2.0, 2.0, None]), records("clean0", "mixup-0.5", [None, None, 1.0]))
    assert (best.method, best.seeds) == ("mixup", (0, 1))


def test_equal_errors_are_decided_by_the_loss():
    best = chosen(
        records("clean0", "mixup-0.5", [1.0], selection_nll=0.4), records("clean0", "mixup", [1.0], selection_nll=0.3)
    )
    assert best.method == "mixup"


def test_families_are_chosen_apart():
    lines = [
        *records("clean0", "mixup", [1.0]),
        *records("clean0", "cutmix", [5.0]),
        *records("clean0", "cutmix-0.2", [4.0]),
    ]
    assert chosen(lines).method == "mixup"
    assert (chosen(lines, family="cutmix").method, chosen(lines, family="cutmix").alpha) == ("cutmix-0.2", "α = 0.2")
    assert chosen(lines, family="manifold") is None
