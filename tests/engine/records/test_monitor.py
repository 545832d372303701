from metamixup.engine.records.monitor import Monitor


def warnings(rows: list[tuple[float, float]]) -> list[str]:
    monitor = Monitor()
    found = [monitor.see({"train_nll": train, "meta_nll": meta}) for train, meta in rows]
    return [text for text in found if text]


def test_warns_once_when_the_meta_loss_falls_away():
    found = warnings([(2.0, 2.0), (1.0, 1.1), (0.9, 0.3), (0.8, 0.1), (0.8, 0.05)])
    assert len(found) == 1
    assert "overfitted" in found[0]


def test_wrong_training_labels_are_no_reason_to_warn():
    assert not warnings([(2.0, 0.6), (1.8, 0.4), (1.6, 0.3)])


def test_epochs_without_scores_are_passed_over():
    assert Monitor().see({}) is None
    assert Monitor().see({"train_nll": 0.0, "meta_nll": 0.0}) is None
