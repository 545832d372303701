"""The process of a grid that carries out runs: lines of JSON in, lines of JSON out."""

import json
import os
import sys

from metamixup.tables import worker


def noisy(*_):
    """As a library in C prints, past Python."""
    os.write(1, b"a warning\n")
    print("a word")
    return {"status": "done"}


def test_what_a_library_prints_is_no_answer(monkeypatch):
    jobs, answers, noise = os.pipe(), os.pipe(), os.pipe()
    os.write(jobs[1], json.dumps({"folder": "x", "given": {}}).encode() + b"\n")
    os.close(jobs[1])
    pid = os.fork()
    if pid == 0:
        for descriptor, pipe in ((0, jobs[0]), (1, answers[1]), (2, noise[1])):
            os.dup2(pipe, descriptor)
        monkeypatch.setattr(worker, "carry_out", noisy)
        sys.stdin, sys.stderr = open(0), open(2, "w")  # noqa: SIM115
        worker.main()
        sys.stderr.flush()
        os._exit(0)
    for end in (jobs[0], answers[1], noise[1]):
        os.close(end)
    assert os.waitpid(pid, 0)[1] == 0
    with os.fdopen(answers[0]) as told, os.fdopen(noise[0]) as heard:
        assert [json.loads(line) for line in told] == [{"status": "done"}]
        assert heard.read() == "a warning\na word\n"
