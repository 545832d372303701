"""One thing altered at a time, anywhere a user or a handed file can reach: `python stress/mutate.py --count 10000`.

Each attack alters one node of a checkpoint, one field of a record, one header of a file, one option or one variable of
the environment, puts something else in the place of a file, or lets one system call fail. It must end with an exit code
of ours and a sentence: no traceback, no success on garbage, no end that never comes, and no file outside the run folder
touched. All is seeded: an attack is named by its number.
"""

import argparse
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch
from file_attacks import checkpoint_node, file_header, file_kind, grid_field, record_field
from machine_attacks import environment, option, system_call
from target import Attack, Target

MEMORY = 6 * 2**30
PATIENCE = 60  # seconds of one attack: longer is a command that hangs
KINDS: dict[Callable[[Target, random.Random], Attack], int] = {
    checkpoint_node: 28,
    record_field: 22,
    grid_field: 12,
    file_header: 5,
    file_kind: 5,
    option: 14,
    environment: 7,
    system_call: 7,
}


def hangs(*_: object) -> None:
    raise RuntimeError(f"no end after {PATIENCE} s")


def problem(attack: Attack, target: Target) -> str | None:
    if "Traceback" in attack.said or attack.code not in (0, 1, 2, 3, 75):
        return "a traceback" if "Traceback" in attack.said else f"exit code {attack.code}"
    if attack.garbage and attack.code == 0:
        return "success on garbage"
    if attack.code and not attack.said.strip():
        return "no sentence"
    return "a file outside the run folder" if target.touched() else None


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--count", type=int, default=1000)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--minutes", type=float, default=1e9)
    given = asked.parse_args()
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, hangs)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # hunger for memory is a traceback, not a dead machine
    deadline, codes, found = time.monotonic() + 60 * given.minutes, Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        os.environ["METAMIXUP_CACHE"] = str(Path(name) / "sound")
        target, number = Target(Path(name)), given.seed
        while number < given.seed + given.count and time.monotonic() < deadline:
            chance = random.Random(number)
            kind = chance.choices([*KINDS], [*KINDS.values()])[0]
            signal.alarm(PATIENCE)
            attack = kind(target, chance)
            codes[f"{kind.__name__} {attack.code}"] += 1
            wrong = problem(attack, target)
            if wrong is not None:
                found += 1
                print(f"attack {number}: {wrong}: {attack.what}\n{attack.said[-1500:]}", flush=True)
            number += 1
    print(f"{number - given.seed} attacks, {found} problems; exit codes {dict(sorted(codes.items()))}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
