"""The command `metamixup`. Exit codes: 0 done, 2 a user's mistake, 3 done but some inputs were skipped, 75 interrupted
with a checkpoint saved, 1 anything else."""

import errno
import os
import re
import sys
from contextlib import nullcontext

# Read when torch loads its threads, which spin while they wait for each other. For long, and a shared machine is many
# times slower; not at all, and waking them takes a third of a small network's step on two free cores.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "5000")
# When another process is gone torch writes a page of its own addresses; a sentence of ours says so.
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

LAUNCHER_NUMBERS = (
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK", "MASTER_PORT"),
    *("TORCHELASTIC_MAX_RESTARTS", "METAMIXUP_MEETING_SECONDS", "METAMIXUP_PARENT"),
)
IN_FILES = ("train", "reproduce", "study", "export", "report")  # whose results are files, whatever they print
NO_HOME = "'~' stands for no folder here (no HOME, or no such user); write the whole path"


def main(arguments: list[str] | None = None) -> None:
    """Run a command; a user's mistake is told in a line or two, without a traceback."""
    from metamixup.cli.output import steady_output

    steady_output()
    arguments = sys.argv[1:] if arguments is None else arguments
    sys.exit(_unless_lost(run(arguments), arguments))


def _unless_lost(code: int, arguments: list[str]) -> int:
    """The exit code, but 2 where standard output was the result and a full disk took it."""
    sys.stdout.flush()
    lost: OSError | None = getattr(sys.stdout, "lost", None)
    if lost is None:
        return code
    elsewhere = bool(arguments) and arguments[0] in IN_FILES
    kind = "note" if elsewhere else "error"
    _tell(f"{kind}: standard output could not be written to its end ({lost.strerror}); the rest of it is lost", 2)
    return 2 if code in (0, 3) and not elsewhere else code


def run(arguments: list[str]) -> int:
    """The exit code of a command."""
    try:
        from metamixup.engine.interrupt import listening

        # Of several processes one may be told to stop while it still imports: the others must not wait for it in vain.
        with listening() if arguments[:1] == ["train"] else nullcontext():
            return _carry_out(arguments)
    except KeyboardInterrupt:  # at any moment, also while modules are imported
        return _tell("interrupted", 130)


def _carry_out(arguments: list[str]) -> int:
    from metamixup.cli.extras import needing
    from metamixup.errors import UserError

    try:
        with needing("cli"):
            from metamixup.cli.app import app
        _check_environment()
        _refuse_empty(arguments)
        return int(app([_from_home(argument) for argument in arguments], standalone_mode=False) or 0)
    except UserError as error:
        return 2 if type(error).__name__ == "ToldElsewhere" else _tell(f"error: {error}", 2)
    except Exception as error:
        return _expected(error)


def _check_environment() -> None:
    """What a launcher tells its processes are numbers; Lightning reads them as soon as it is imported."""
    from metamixup.errors import UserError

    for name in LAUNCHER_NUMBERS:
        text = os.environ.get(name, "0")
        if not (text.isascii() and text.isdigit()):
            raise UserError(f"the environment says {name}={text!r}, which is no number; unset it, or mend the launcher")


def _refuse_empty(arguments: list[str]) -> None:
    """An empty path would stand for the current folder; what is empty is most often a variable of the shell."""
    from metamixup.errors import UserError

    for before, argument in zip(["", *arguments], arguments, strict=False):
        option, equals, value = argument.partition("=") if argument.startswith("--") else ("", "=", argument)
        if equals and not value.strip():
            name = option or (before if before.startswith("--") and before != "--" else "an argument")
            raise UserError(f"{name} is empty; give a value or leave it out (is a variable of the shell not set?)")


def _from_home(argument: str) -> str:
    """`--out=~/x` comes as it is written: shells replace `~` at the beginning of a word alone."""
    from metamixup.errors import UserError

    option, equals, path = argument.rpartition("=") if argument.startswith("--") else ("", "", argument)
    if not re.fullmatch(r"~|~[\w.-]*/.*", path, re.DOTALL) or os.path.lexists(path):
        return argument
    found = os.path.expanduser(path)
    if found == path:
        raise UserError(NO_HOME)
    return f"{option}{equals}{found}"


def _expected(error: Exception) -> int:
    """Exit codes of what is no bug; the rest is raised with its traceback."""
    # Usage errors of click, which typer brings under a name of its own since 0.20: known by their shape.
    told = getattr(error, "format_message", str)()
    if hasattr(error, "exit_code"):
        return _tell(f"error: {told}", error.exit_code) if told else error.exit_code
    from metamixup.engine.divergence import Diverged
    from metamixup.engine.interrupt import Interrupted
    from metamixup.engine.launch import lost_another
    from metamixup.engine.out_of_memory import is_out_of_memory

    if isinstance(error, Interrupted):
        return _tell(f"interrupted: {error}; go on with --resume, added to the same command", 75)
    if isinstance(error, Diverged):
        return _tell("\n".join([f"error: {error}", *getattr(error, "__notes__", [])]), 1)
    if isinstance(error, OSError) and error.errno is not None:
        return _tell(f"error: {_failing(error)}", 2)
    if is_out_of_memory(error):
        return _tell("error: the memory does not suffice; smaller batches, images or models need less of it", 2)
    if isinstance(error, RuntimeError) and "home directory" in str(error):
        return _tell(f"error: {NO_HOME}", 2)
    if isinstance(error, ValueError) and "null byte" in str(error):
        return _tell("error: a path holds a null byte, which no file system takes", 2)
    if lost_another(error):
        return _tell("error: another process of this run is gone; go on with --resume (torchrun: --max-restarts)", 1)
    raise error


def _failing(error: OSError) -> str:
    """A disk, a quota, a limit or a place that does not serve; checkpoints stay good, since all writing is atomic."""
    where = f"{error.filename}: " if error.filename is not None else ""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = "free some space" if full else "mend that or choose another place"
    return f"{where}{error.strerror}; {remedy}, and go on with --resume if a run was under way"


def _tell(text: str, code: int) -> int:
    """Of several processes the one that leads speaks; another says who it is, since the mistake may be its own."""
    from metamixup.cli.output import printable

    text = printable(text)
    told = os.environ.get("RANK") or os.environ.get("LOCAL_RANK") or ""
    rank = int(told) if told.isdigit() else 0
    if not rank or code not in (0, 1, 75):
        print(f"process {rank}: {text}" if rank else text, file=sys.stderr)
    return code
