import os
import signal
import threading

import pytest

from metamixup.engine.interrupt import Interrupt, listening


@pytest.fixture(autouse=True)
def _no_nohup():
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU])
def test_a_signal_sets_the_flag_and_handlers_are_put_back(number):
    before = signal.getsignal(number)
    with listening() as interrupt:
        assert not interrupt.asked
        os.kill(os.getpid(), number)
        assert interrupt.asked
    assert signal.getsignal(number) is before


def test_whoever_listens_later_hears_what_came_before():
    with listening() as outer:
        os.kill(os.getpid(), signal.SIGTERM)
        with listening() as inner:
            assert inner.asked
        os.kill(os.getpid(), signal.SIGTERM)  # still listened to
        assert outer is inner


def test_a_closed_terminal_does_not_end_a_run_under_nohup():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with listening() as interrupt:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not interrupt.asked
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_the_second_ctrl_c_does_not_wait():
    with listening() as interrupt:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_other_threads_leave_signals_alone():
    seen = []

    def work():
        with listening() as interrupt:
            seen.append(interrupt.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


def test_a_parent_that_is_gone_asks_too():
    assert not Interrupt(parent=os.getppid()).asked
    assert Interrupt(parent=os.getpid()).asked
