"""One run over several processes from the command line, as torchrun would start them; and every way to lose one."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import safetensors.torch
from ranks import together

from metamixup import cli, world
from metamixup.cli import run
from metamixup.errors import UserError
from metamixup.runs.run import refuse_other_data

TRAIN = ["train", "--epochs", "2", "--threads", "1", "--batch-size", "64", "--set", "subset=300"]
OFTEN = ["--set", "checkpoint_minutes=0.0002"]


class Group:
    """Forked processes that share a run; what each of them says on standard error is kept."""

    def __init__(self, size: int, *arguments: str, log: Path, **environment: str):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        # What torchrun tells the processes of one machine.
        told = {"WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        told |= {"TORCHELASTIC_RUN_ID": "test", "GROUP_RANK": 0, "TORCHELASTIC_USE_AGENT_STORE": "False", **environment}
        self.log = log
        self.pids = [self._start(rank, told, arguments) for rank in range(size)]

    def _start(self, rank, told, arguments) -> int:
        pid = os.fork()
        if pid:
            return pid
        code = 99
        try:
            target = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(target, 1)
            os.dup2(target, 2)
            sys.stdout = sys.stderr = os.fdopen(2, "w", buffering=1)
            os.environ.update({k: str(v) for k, v in {**told, "RANK": rank, "LOCAL_RANK": rank}.items()})
            code = run(list(arguments))
            sys.stdout.flush()
        finally:
            os._exit(code)

    def end(self, seconds: float = 100.0) -> list[int]:
        """Their exit codes; those that hang are killed, and have -9."""
        deadline, codes = time.monotonic() + seconds, {}
        while len(codes) < len(self.pids):
            for pid in [p for p in self.pids if p not in codes]:
                if time.monotonic() > deadline:
                    os.kill(pid, signal.SIGKILL)
                found, status = os.waitpid(pid, os.WNOHANG)
                if found:
                    codes[pid] = os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        return [codes[pid] for pid in self.pids]

    def said(self) -> str:
        return self.log.read_text()

    def wait_for(self, pattern: Path) -> None:
        deadline = time.monotonic() + 100
        while not list(pattern.parent.glob(pattern.name)):
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.005)


def weights(out: Path) -> bytes:
    return (out / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The undisturbed run of two processes."""
    out = tmp_path_factory.mktemp("pair")
    group = Group(2, *TRAIN, "--out", str(out / "run"), log=out / "log")
    assert group.end() == [0, 0], group.said()
    return out / "run"


def test_a_rank_killed_in_the_middle_comes_back_from_the_last_checkpoint(tmp_path, pair):
    given, out = [*TRAIN, *OFTEN, "--out", str(tmp_path / "run")], tmp_path / "run"
    elastic = {"TORCHELASTIC_MAX_RESTARTS": "3"}
    group = Group(2, *given, log=tmp_path / "first", **elastic)
    group.wait_for(out / "checkpoints" / "step-*.safetensors")
    os.kill(group.pids[1], signal.SIGKILL)
    assert group.end() == [1, -signal.SIGKILL], group.said()  # the other does not hang
    assert "another process of this run is gone" in group.said()
    assert "Traceback" not in group.said()
    again = Group(2, *given, log=tmp_path / "second", **elastic)
    assert again.end() == [0, 0], again.said()
    assert "going on from step" in again.said()
    assert weights(out) == weights(pair)


@pytest.mark.parametrize("told", [[0], [1], [0, 1]])
def test_sigterm_to_any_rank_saves_and_ends_all_with_75(tmp_path, told):
    out = tmp_path / "run"
    group = Group(2, *TRAIN, *OFTEN, "--set", "epochs=1000", "--out", str(out), log=tmp_path / "log")
    group.wait_for(out / "checkpoints" / "step-*.safetensors")
    for rank in told:
        os.kill(group.pids[rank], signal.SIGTERM)
    assert group.end() == [75, 75], group.said()
    assert "go on with --resume" in group.said()
    assert not (out / "summary.json").exists()


def test_a_rank_killed_before_they_met_is_not_waited_for(tmp_path):
    group = Group(2, *TRAIN, "--out", str(tmp_path / "run"), log=tmp_path / "log", METAMIXUP_MEETING_SECONDS="1")
    os.kill(group.pids[1], signal.SIGKILL)
    assert group.end(20) == [2, -signal.SIGKILL]
    assert "error: process 1 did not come to 127.0.0.1:" in group.said()
    assert "Traceback" not in group.said()


@pytest.mark.parametrize("told", [0, 1])
def test_sigterm_while_a_rank_still_imports_ends_all_with_75(tmp_path, monkeypatch, told):
    def stop() -> None:
        if os.environ["RANK"] == str(told):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(cli, "_check_environment", stop)
    group = Group(2, *TRAIN, "--out", str(tmp_path / "run"), log=tmp_path / "log")
    assert group.end(50) == [75, 75], group.said()


@pytest.fixture
def started_here(tmp_path):
    """`--devices 2`: a process that starts the other one itself."""
    command = [sys.executable, "-m", "metamixup", *TRAIN, *OFTEN, "--set", "epochs=1000", "--devices", "2"]
    with subprocess.Popen(
        [*command, "--out", str(tmp_path / "run")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def child_of(process: subprocess.Popen[str]) -> int:
    while not (found := Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()):
        time.sleep(0.05)
    return int(found[0])


def test_a_process_started_here_and_killed_before_they_met_is_told(started_here):
    os.kill(child_of(started_here), signal.SIGKILL)
    assert "error: process 1 ended with code -9 before" in started_here.communicate(timeout=60)[1]
    assert started_here.returncode == 2


def test_sigterm_to_a_process_started_here_saves_and_ends_with_75(tmp_path, started_here):
    while not list((tmp_path / "run" / "checkpoints").glob("step-*.safetensors")):
        assert started_here.poll() is None
        time.sleep(0.05)
    os.kill(child_of(started_here), signal.SIGTERM)
    assert "go on with --resume" in started_here.communicate(timeout=60)[1]
    assert started_here.returncode == 75


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
def test_a_run_goes_on_with_another_number_of_processes(tmp_path, before, after):
    out = tmp_path / "run"
    group = Group(before, *TRAIN, *OFTEN, "--out", str(out), log=tmp_path / "first")
    group.wait_for(out / "checkpoints" / "step-*.safetensors")
    os.kill(group.pids[0], signal.SIGTERM)
    assert set(group.end()) == {75}, group.said()
    again = Group(after, *TRAIN, *OFTEN, "--out", str(out), "--resume", log=tmp_path / "second")
    assert set(again.end()) == {0}, again.said()
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2]
    assert all(t.isfinite().all() for t in safetensors.torch.load(weights(out)).values())


def test_two_runs_in_one_folder(tmp_path):
    out = tmp_path / "run"
    first = Group(1, *TRAIN, "--set", "epochs=1000", "--out", str(out), log=tmp_path / "first")
    first.wait_for(out / "config.toml")
    second = Group(2, *TRAIN, "--set", "epochs=1000", "--out", str(out), "--resume", log=tmp_path / "second")
    assert second.end() == [2, 2]
    assert f"in use by process {first.pids[0]}" in second.said()
    os.kill(first.pids[0], signal.SIGTERM)
    assert first.end() == [75]


def test_a_mistake_is_told_once_and_ends_all(tmp_path):
    group = Group(2, *TRAIN, "--set", "batch_size=65", "--out", str(tmp_path / "run"), log=tmp_path / "log")
    assert group.end() == [2, 2]
    assert "2 processes cannot share train batches of 65 images" in group.said()
    assert not (tmp_path / "run").exists()


def test_a_damaged_checkpoint_is_passed_over_by_all(tmp_path, pair):
    out = tmp_path / "run"
    group = Group(2, *TRAIN, *OFTEN, "--out", str(out), log=tmp_path / "first")
    while len(list(out.glob("checkpoints/step-*.safetensors"))) < 2:
        time.sleep(0.005)
    for pid in group.pids:
        os.kill(pid, signal.SIGTERM)
    assert group.end() == [75, 75], group.said()
    newest = max(out.glob("checkpoints/step-*.safetensors"))
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)
    again = Group(2, *TRAIN, *OFTEN, "--out", str(out), "--resume", log=tmp_path / "second")
    assert again.end() == [0, 0], again.said()
    assert f"{newest.name} is damaged; going on from" in again.said()
    assert weights(out) == weights(pair)


def test_torchrun_with_two_nodes_on_loopback(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    node = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"]
    node += ["--rdzv-backend", "c10d", "--rdzv-endpoint", place, "--rdzv-id", "test", "-m", "metamixup"]
    command = [*node, *TRAIN, "--out", str(tmp_path / "run")]
    nodes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(2)]
    said = b"".join(each.communicate(timeout=200)[0] for each in nodes)
    assert [each.returncode for each in nodes] == [0, 0], said.decode()
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["test_error"] < 90


def other_data() -> dict[str, str]:
    try:
        refuse_other_data("same" if world.leads() else "other")
    except UserError as error:
        return {"told": str(error)}
    return {"told": ""}


def test_machines_with_other_data_are_refused(tmp_path):
    first, second = together(2, tmp_path, other_data)
    assert first["told"] == ""
    assert "not what the first one reads" in second["told"]


def test_two_ctrl_c_while_modules_are_imported_end_without_a_traceback(monkeypatch, capsys):
    def imports(_):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(cli, "_carry_out", imports)
    assert run(["train"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
