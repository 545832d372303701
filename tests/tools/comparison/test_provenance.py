from compared import records, tasks

from tools.comparison.provenance import provenance


def test_policies_processors_and_versions_are_told():
    lines = records("clean0", "trustmix", [1.0, 2.0], processor="Abacus", version="3") + records(
        "clean0", "mixup", [1.0]
    )
    text = provenance(tasks(lines))
    assert "*beta*: MixUp, α = 1; *trust · evidence*: TrustMix" in text
    assert "Runs by processor: Abacus 2, not recorded 1; by version of the code: 3 2, not recorded 1." in text
    assert "Baseline" not in text, "what has not been run has no row"


def test_without_runs_there_is_nothing_to_tell():
    assert provenance(tasks([])) == "Nothing has been run yet.\n"
