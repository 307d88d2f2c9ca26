"""Memory as each system reports it: samples of what Linux, macOS and Windows say, and this one."""

import ctypes
import subprocess
import sys

import pytest

from mercer.engines import memory

GIB = 2**30

MEMINFO = """MemTotal:        8127388 kB
MemFree:          218344 kB
MemAvailable:    3916120 kB
Buffers:          103072 kB
"""
STATUS = """Name:\tpython
VmPeak:\t 5242880 kB
VmHWM:\t  123456 kB
VmRSS:\t  100000 kB
"""
VM_STAT = """Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                               10000.
Pages active:                            200000.
Pages inactive:                           30000.
Pages speculative:                         2000.
Pages throttled:                              0.
"Translation faults":                 123456789.
"""


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (lambda text: memory.in_bytes(text, "MemAvailable"), MEMINFO, 3916120 * 1024),
        (lambda text: memory.in_bytes(text, "MemAvailable"), "MemTotal: 8127388 kB\n", None),
        (lambda text: memory.in_bytes(text, "VmHWM"), STATUS, 123456 * 1024),
        (lambda text: memory.in_bytes(text, "VmHWM"), "", None),
        (memory.vm_stat_available, VM_STAT, 42000 * 16384),
        (memory.vm_stat_available, "", None),
    ],
)
def test_what_systems_report(read, text, expected):
    assert read(text) == expected


def control_group(folder, limit, used, cached, names):
    folder.mkdir(parents=True, exist_ok=True)
    most, current, inactive = names
    (folder / most).write_text(f"{limit}\n", encoding="utf-8")
    (folder / current).write_text(f"{used}\n", encoding="utf-8")
    (folder / "memory.stat").write_text(f"anon 5\n{inactive} {cached}\n", encoding="utf-8")


TWO = ("memory.max", "memory.current", "inactive_file")
ONE = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def test_a_group_is_bound_by_its_parents(tmp_path):
    control_group(tmp_path / "pod" / "box", "max", 1 * GIB, 0, TWO)
    control_group(tmp_path / "pod", 4 * GIB, 3 * GIB, GIB // 2, TWO)
    assert memory.control_group_available("0::/pod/box\n", tmp_path) == 3 * GIB // 2
    control_group(tmp_path / "pod" / "box", 2 * GIB, 1 * GIB, 0, TWO)
    assert memory.control_group_available("0::/pod/box\n", tmp_path) == GIB


def test_groups_of_version_1(tmp_path):
    control_group(tmp_path / "memory" / "job", 2 * GIB, 1 * GIB, 1024, ONE)
    groups = "5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n"
    assert memory.control_group_available(groups, tmp_path) == GIB + 1024


def test_a_group_over_its_limit_allows_nothing(tmp_path):
    control_group(tmp_path, GIB, GIB + 4096, 0, TWO)
    assert memory.control_group_available("0::/\n", tmp_path) == 0


@pytest.mark.parametrize("groups", ["", "0::/absent\n", "3:cpuset:/\n"])
def test_no_limit_of_a_group(groups, tmp_path):
    assert memory.control_group_available(groups, tmp_path) is None


class Kernel32:
    """Answers as Windows does, or refuses."""

    def __init__(self, answers):
        self.answers = answers

    def GlobalMemoryStatusEx(self, status):
        assert status._obj.length == 64  # what Windows checks
        status._obj.available = 5 * GIB
        return self.answers

    def K32GetProcessMemoryInfo(self, process, counters, size):
        assert process.value == ctypes.c_void_p(-1).value
        assert size.value == ctypes.sizeof(counters._obj) == 8 + 8 * ctypes.sizeof(ctypes.c_size_t)
        counters._obj.peak_working_set = GIB
        return self.answers


def test_windows():
    assert memory.windows_available(Kernel32(1)) == 5 * GIB
    assert memory.windows_peak(Kernel32(1)) == GIB


def test_windows_that_does_not_answer():
    assert memory.windows_peak(Kernel32(0)) is None
    with pytest.raises(OSError, match="set memory_limit"):
        memory.windows_available(Kernel32(0))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no os.sysconf to fall back on")
def test_half_of_the_physical_memory_where_nothing_can_be_read(monkeypatch):
    physical = memory.os.sysconf("SC_PAGE_SIZE") * memory.os.sysconf("SC_PHYS_PAGES")
    monkeypatch.setattr(memory, "_text_of", lambda path: "")
    monkeypatch.setattr(memory, "_output_of", lambda command: "")
    assert memory.available_memory() == physical // 2


def test_commands_that_fail_say_nothing():
    assert memory._output_of("no-such-command-of-any-system") == ""


def test_the_peak_grows_with_what_is_taken():
    code = (
        "import numpy as np; from mercer.engines.memory import peak_memory; before = peak_memory();"
        "np.ones(12_500_000); print(peak_memory() - before)"
    )
    grown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert 90e6 < int(grown.stdout) < 200e6


def test_available_memory_of_this_machine():
    free = memory.available_memory()
    assert 10e6 < free < 2**50
