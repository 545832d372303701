"""Processes that meet, each of them a real one: nobody waits for ever, whoever is missing and whenever it went."""

import multiprocessing
import os
import signal
import socket
import time
from contextlib import contextmanager
from multiprocessing.process import BaseProcess

import pytest
import torch
import torch.distributed as dist

from metamixup.engine import meeting
from metamixup.engine.interrupt import Interrupted, listening
from metamixup.engine.meeting import Meeting, Member, patience
from metamixup.errors import UserError

JOINED, TOLD, STOPPED = 0, 2, 75
LONG = 60


class Run:
    """Processes that are to meet at one port; what they say is kept, and those that hang are killed at the end."""

    def __init__(self, log):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log, self.started = log, []

    def start(self, rank, size, patience=LONG, wait=0.0, before=lambda: None, ended="") -> BaseProcess:
        """`before` is done by the process just before it comes, after `wait` seconds."""
        member = Member(rank, size, "127.0.0.1", self.port, patience)
        context = multiprocessing.get_context("fork")
        self.started.append(context.Process(target=self.attend, args=(member, wait, before, ended)))
        self.started[-1].start()
        return self.started[-1]

    def attend(self, member, wait, before, ended):
        code = 99
        try:
            with listening() as interrupt:
                time.sleep(wait)
                before()
                Meeting(member, torch.device("cpu"), interrupt, self.say, lambda: ended).join()
            total = torch.ones(1)
            dist.all_reduce(total)
            code = JOINED if total == member.size else 98
        except Interrupted:
            code = STOPPED
        except UserError as error:
            self.say(str(error))
            code = TOLD
        finally:
            os._exit(code)

    def say(self, text):
        with self.log.open("a") as file:
            file.write(f"{text}\n")

    @property
    def said(self) -> str:
        return self.log.read_text()


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path / "log")
    yield run
    for process in run.started:
        process.kill()
        process.join()


def end(*processes: BaseProcess, within: float = 30.0) -> list[int | None]:
    """Their exit codes; None for one that hangs."""
    deadline = time.monotonic() + within
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    return [process.exitcode for process in processes]


def send(number: int, process: BaseProcess) -> None:
    time.sleep(0.5)  # so that it waits by now
    os.kill(process.pid, number)


@pytest.mark.parametrize("late", [0, 1])
def test_whoever_comes_late_is_waited_for(run, late):
    assert end(*[run.start(rank, 2, wait=float(rank == late)) for rank in (0, 1)]) == [JOINED, JOINED]


@pytest.mark.parametrize(("rank", "missing"), [(0, 1), (1, 0)])
def test_who_never_comes_is_named_when_the_bound_is_over(run, rank, missing):
    assert end(run.start(rank, 2, patience=1), within=8) == [TOLD]
    assert f"process {missing} did not come to 127.0.0.1:{run.port} within 1 s" in run.said
    assert "start all processes again with --resume" in run.said


def test_they_say_whom_they_wait_for(run, monkeypatch):
    monkeypatch.setattr(meeting, "SPEAK_AFTER", 3.0)  # on a busy machine process 1 is not there at once
    assert end(*[run.start(rank, 12, patience=4) for rank in (0, 1)]) == [TOLD, TOLD]
    missing = "processes 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
    assert f"process 0 waits for {missing} at 127.0.0.1:" in run.said
    assert f"{missing} did not come" in run.said


@pytest.mark.parametrize("told", [0, 1])
def test_a_signal_to_one_that_waits_ends_all(run, told):
    processes = [run.start(rank, 3) for rank in (0, 1)]
    send(signal.SIGTERM, processes[told])
    assert end(*processes, within=8) == [STOPPED, STOPPED]


def stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("told", [0, 1])
def test_one_that_was_told_to_stop_and_comes_first_ends_all(run, told):
    early = run.start(told, 3, before=stop)
    assert end(early, run.start(1 - told, 3, wait=0.5), within=8) == [STOPPED, STOPPED]


def test_nobody_there_to_be_told_does_not_keep_a_signal_waiting(run, monkeypatch):
    monkeypatch.setattr(meeting, "GRACE", 0.5)
    assert end(run.start(1, 2, before=stop), within=4) == [STOPPED]


def test_process_0_killed_while_others_wait_is_noticed_at_once(run):
    first, second = run.start(0, 3), run.start(1, 3)
    send(signal.SIGKILL, first)
    assert end(second, within=5) == [TOLD]
    assert "nobody answers at" in run.said


def test_a_process_that_is_known_to_have_ended_is_not_waited_for(run):
    assert end(run.start(0, 2, ended="process 1 ended with code -9"), within=8) == [TOLD]
    assert "process 1 ended with code -9 before the processes of this run were joined" in run.said


def test_one_that_dies_after_they_met_is_not_waited_for_half_an_hour(run):
    def die_when_joined() -> None:
        dist.init_process_group = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)

    first, second = run.start(0, 2, patience=2), run.start(1, 2, before=die_when_joined)
    assert end(first, second, within=15) == [TOLD, -signal.SIGKILL]
    assert "gone since all had met" in run.said


@contextmanager
def another_program(port: int):
    """It listens, and never says a word."""
    with socket.socket() as mute:
        mute.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        mute.bind(("", port))
        mute.listen()
        yield


def test_a_port_that_another_program_holds(run):
    with another_program(run.port):
        assert end(run.start(0, 2, patience=1), run.start(1, 2, patience=1), within=10) == [TOLD, TOLD]
    assert "EADDRINUSE" in run.said
    assert "choose another MASTER_PORT" in run.said
    assert "process 0 did not come" in run.said


def test_what_an_earlier_start_left_in_an_agents_store_is_nobodys_answer(run, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    agent = dist.TCPStore("127.0.0.1", run.port, is_master=True, wait_for_workers=False)
    for late in (0, 1, 0):  # torch alone would take the address of the process 0 before
        assert end(*[run.start(rank, 2, wait=0.5 * (rank == late)) for rank in (0, 1)]) == [JOINED, JOINED]
    del agent


def test_other_machines_are_waited_for_longer_and_the_bound_can_be_set(monkeypatch):
    monkeypatch.delenv(meeting.VARIABLE, raising=False)
    assert patience(nodes=1) < patience(nodes=2)
    monkeypatch.setenv(meeting.VARIABLE, "1" + 40 * "0")
    assert patience(nodes=1) == meeting.LONGEST


def test_a_port_that_is_none_is_told():
    with pytest.raises(ValueError, match="MASTER_PORT is 99999"):
        Member(0, 2, "127.0.0.1", 99_999, LONG)
