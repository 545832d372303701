import json
import shutil

import pytest
import torch
from analysis.small import SMALL

from metamixup.analysis.rebuild import rebuild
from metamixup.analysis.studies import STUDIES, Options, find_study
from metamixup.errors import UserError
from metamixup.settings.config import write_config
from metamixup.settings.resolve import resolve


def make_study(name, paths, options):
    return find_study(name, options).make(paths, options)


def made(name, runs, out, **options):
    paths = make_study(name, runs, Options(out, **options)).save(out)
    assert [path.suffix for path in paths] == [".json", ".png", ".svg", ".html"]
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in paths[2].read_text()
    assert "plotly" in paths[3].read_text()
    return json.loads(paths[0].read_text())


def test_loss(trained, tmp_path):
    methods = made("loss", trained, tmp_path)["methods"]
    assert set(methods) == {"mixup", "trustmix"}
    assert all(len(own["training loss"]["mean"]) == 2 for own in methods.values())
    assert all(own["train_nll"]["final"] > 0 for own in methods.values())


def test_lambda_frequency(trained, tmp_path):
    numbers = made("lambda-frequency", trained, tmp_path, values=[0.5])
    assert sum(numbers["methods"]["mixup"]["shares"]) == pytest.approx(1, abs=1e-4)
    assert numbers["Beta(0.5, 0.5)"]["ends"] > 0.25


def test_lambda_by_class(trained, tmp_path):
    (own,) = made("lambda-by-class", trained[1:], tmp_path, epochs=[1, 2])["runs"].values()
    assert set(own) == {"1", "2"}
    assert len(own["2"]["mixing"]) == 10


def test_lambda_by_class_of_several_runs_side_by_side(trained, tmp_path):
    numbers = made("lambda-by-class", trained, tmp_path)
    assert set(numbers["runs"]) == {"mixup, seed 0", "trustmix, seed 0"}
    twice = made("lambda-by-class", [trained[0], trained[0].parent / "." / "mixup"], tmp_path)
    assert set(twice["runs"]) == {str(trained[0])}, "the same folder named twice is one run"
    study = make_study("lambda-by-class", trained, Options(tmp_path))
    assert len(study.interactive.data) == 2
    assert all(len(frame.data) == 2 for frame in study.interactive.frames)


def test_intrusion(trained, tmp_path):
    runs = made("intrusion", trained, tmp_path, samples=128)["runs"]
    assert set(runs) == {"mixup, seed 0", "trustmix, seed 0"}
    for own in runs.values():
        assert own["blends"]["samples"] >= 128
        assert 0 <= own["blends"]["minimum"] <= own["blends"]["mean"]
        assert own["relative"]["mean"] == pytest.approx(own["blends"]["mean"] / own["real"]["mean"])


def test_features(trained, tmp_path):
    runs = made("features", trained, tmp_path)["runs"]
    assert all(own["separation"] > 0 for own in runs)


def test_proposition_1_is_not_violated(trained, tmp_path):
    networks = made("lipschitz", trained[1:], tmp_path, samples=12)["networks"]
    assert len(networks) == 3
    for own in networks.values():
        assert own["violations"] == 0
        assert own["largest_ratio"] <= 1 + own["tolerance"]
    certified = [own for own in networks.values() if own["kappa"] == "certified"]
    assert all(own["kappa_on_segments"] <= own["kappa_largest"] for own in certified)


def test_a_sweep_trains_what_is_not_there_yet(tmp_path, capsys):
    (tmp_path / "base").mkdir()
    write_config(tmp_path / "base" / "config.toml", resolve(SMALL | {"epochs": 1, "subset": 200}))
    for expected in (2, 0):
        numbers = made("validation-size", [tmp_path / "base"], tmp_path, values=[5.0, 8.0])
        assert capsys.readouterr().out.count("training ") == expected
    [points] = numbers["tasks"].values()
    assert [point["value"] for point in points] == [5, 8]


def test_runs_that_differ_in_the_setting_are_the_sweep(trained, tmp_path):
    for k, (path, drop) in enumerate(zip(trained, ("0.01", "0.2"), strict=True)):
        run = shutil.copytree(path, tmp_path / str(k))
        config = (run / "config.toml").read_text().replace("sigma_drop = 0.05", f"sigma_drop = {drop}")
        config = config.replace('data = "digits"', 'data = "svhn"').replace("[ssl]", "[ssl]\nlabels = 1000")
        (run / "config.toml").write_text(config)
    numbers = made("sigma", [tmp_path / "0", tmp_path / "1"], tmp_path / "out")
    assert not numbers["published"], "they are of the paper's method"
    for run in (tmp_path / "0", tmp_path / "1"):
        config = (run / "config.toml").read_text()
        (run / "config.toml").write_text(config.replace('method = "mixup"', 'method = "metamixup+apl"'))
    numbers = made("sigma", [tmp_path / "0", tmp_path / "1"], tmp_path / "out")
    assert numbers["published"]["svhn, metamixup+apl"] == {"0.01": 5.94, "0.05": 5.34, "0.1": 5.55, "0.2": 5.67}
    assert not (tmp_path / "out" / "runs").exists()


def test_looking_at_blends_teaches_nobody(trained):
    run = rebuild(trained[1])
    before = {k: v.clone() for k, v in run.training.model.state_dict().items()}
    blends = [(x.clone(), pair) for x, pair in run.mixed(100)]
    again = list(rebuild(trained[1]).mixed(100))
    assert all(torch.equal(a[0], b[0]) for a, b in zip(blends, again, strict=True))
    assert all(torch.equal(v, before[k]) for k, v in run.training.model.state_dict().items())


def test_an_old_checkpoint_leaves_the_weights(trained, monkeypatch):
    """Its policy is lost with it: blends are refused where the policy had something to remember."""
    monkeypatch.setattr("metamixup.engine.training.Training.load_state_dict", lambda self, state: state["unheard of"])
    plain, learned = (rebuild(path) for path in trained)
    assert not plain.whole
    assert next(iter(plain.mixed(10)))[0].isfinite().all()
    assert learned.training.stage.learned
    with pytest.raises(UserError, match="no checkpoint that this version reads"):
        next(iter(learned.mixed(10)))


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_folder_that_is_no_run_is_refused(name, tmp_path):
    with pytest.raises(UserError, match="no run folder"):
        make_study(name, [tmp_path], Options(tmp_path))


def test_mistakes_are_told(trained, tmp_path):
    with pytest.raises(UserError, match=r"unknown study 'intrusions'; did you mean 'intrusion'\?"):
        make_study("intrusions", trained, Options(tmp_path))
    with pytest.raises(UserError, match="study loss has no --epochs; it takes no options"):
        make_study("loss", trained, Options(tmp_path, epochs=[3]))
    with pytest.raises(UserError, match="epoch 90 was not recorded; this run has 1 to 2"):
        make_study("lambda-by-class", trained[1:], Options(tmp_path, epochs=[90]))


def test_runs_that_lack_a_record_are_told(trained, tmp_path):
    run = shutil.copytree(trained[1], tmp_path / "run")
    for name in ("metrics.jsonl", "lambda.jsonl"):
        (run / name).unlink()
    for name in ("loss", "lambda-frequency", "lambda-by-class"):
        with pytest.raises(UserError, match="recorded"):
            make_study(name, [run], Options(tmp_path))
    shutil.rmtree(run / "checkpoints")
    make_study("features", [run], Options(tmp_path))  # the weights are enough for it
    (run / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"model\.safetensors is missing"):
        make_study("features", [run], Options(tmp_path))
