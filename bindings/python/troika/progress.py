"""Progress of a run: functions of the host, bars, and Ctrl-C."""

import contextlib
import signal
import threading

from troika import _interface
from troika._call import callable_of, result_of
from troika.context import CallbackTable

RUNS = CallbackTable()


class RunState:
    """The state of one trainer's callback: the functions of the host, and the exception that ends the call."""

    def __init__(self):
        self.functions = []
        self.exception = None

    def on_batch(self, progress):
        """Calls the functions. Returns 1 to stop the run."""
        try:
            results = [function(progress) for function in self.functions]
            return 1 if any(results) or self.exception else 0
        except BaseException as exception:  # pylint: disable=broad-except
            self.exception = exception
            return 1

    def raise_exception(self):
        """Raises what ended the last run, once."""
        exception, self.exception = self.exception, None
        if exception is not None:
            raise exception

    @contextlib.contextmanager
    def run(self, function):
        """Holds while a call trains: `function` is called after each batch, and Ctrl-C ends the call at the next one."""
        self.exception = None
        if function is not None:
            self.functions.append(function)
        try:
            with self._keeping_interrupts():
                yield
        finally:
            if function is not None:
                self.functions.remove(function)
        self.raise_exception()

    @contextlib.contextmanager
    def _keeping_interrupts(self):
        """Keeps what the host's handler of SIGINT raises.

        Python runs the handler when it begins to run the callback. An exception that is raised there,
        before the callback's own first line, would be lost.
        """
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(handler):
            yield
            return

        def keep(number, frame):
            try:
                handler(number, frame)
            except BaseException as exception:  # pylint: disable=broad-except
                self.exception = exception

        signal.signal(signal.SIGINT, keep)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, handler)


def _on_batch(progress, user):
    state = RUNS[user]
    if not state.functions:  # called so that Python can run its handlers of signals
        return 1 if state.exception else 0
    return state.on_batch(result_of(_interface.troika_progress.from_address(progress)))


ON_BATCH = _interface.troika_progress_function(_on_batch)


class Bar:
    """A bar of tqdm, which also works in notebooks."""

    def __init__(self, tqdm):
        self._tqdm = tqdm
        self._bar = None

    def __call__(self, progress):
        if self._bar is None:
            self._bar = self._tqdm(total=progress.batches or None, initial=progress.batch - 1, unit="batch",
                                   desc=f"epoch {progress.epoch + 1}" if progress.training else "evaluate")
        self._bar.set_postfix(loss=f"{progress.loss:.4f}", refresh=False)
        self._bar.update(1)

    def close(self):
        """Leaves the bar as it is."""
        if self._bar is not None:
            self._bar.close()


@contextlib.contextmanager
def function_of(progress):
    """The function of a progress argument: a function, True for a bar if tqdm is installed, or None."""
    if progress is not True:
        yield callable_of(progress, "progress", "a function, True or None") if progress else None
        return
    try:
        from tqdm.auto import tqdm  # pylint: disable=import-outside-toplevel
    except ImportError:
        yield None
        return
    bar = Bar(tqdm)
    try:
        yield bar
    finally:
        bar.close()
