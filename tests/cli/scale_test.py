"""Tests of `troika plan --nodes`: its rows, its errors, and published runs that it is compared with.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import pathlib
import re

from tool import refuse, run, run_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Published runs of ResNet-50: nodes, devices per node, samples per device, seconds of a step on one
# device, rate within a node in GB/s, rate of a node, other options. The last two are the published
# efficiency in percent, and the number of devices of which it is a percentage. docs/planning.md has
# the sources.
V100, A100, P100, PCIE = 150, 300, 80, 16
HALF = ["--compress-gradients", "bf16"]
PUBLISHED = {
    "DGX-1, f32": (1, 8, 96, 96 / 384, V100, "400", [], 100 * 3005 / (8 * 384), 1),
    "DGX-1, mixed": (1, 8, 192, 192 / 1376, V100, "400", HALF, 100 * 10723 / (8 * 1376), 1),
    "DGX-2, f32": (1, 16, 128, 128 / 417, V100, "400", [], 100 * 6338 / (16 * 417), 1),
    "DGX-2, mixed": (1, 16, 256, 256 / 1492, V100, "400", HALF, 100 * 21484 / (16 * 1492), 1),
    "DGX A100, TF32": (1, 8, 256, 256 / 1022, A100, "400", [], 100 * 8001 / (8 * 1022), 1),
    "DGX A100, mixed": (1, 8, 256, 256 / 2180, A100, "400", HALF, 100 * 16925 / (8 * 2180), 1),
    "Goyal et al.": (32, 8, 32, 0.230, P100, "50Gbit/s", [], 90, 8),
    "Akiba et al.": (128, 8, 32, 0.205, PCIE, "56Gbit/s", HALF, 80, 1),
    "Jia et al.": (256, 8, 32, 0.198, PCIE, "100Gbit/s", HALF, 87.9, 1),
    "Mikami et al.": (272, 4, 32, 32 / 1376, V100, "200Gbit/s", HALF, 91.62, 1),
    "Li et al.": (32, 8, 32, 32 / 384, V100, "100Gbit/s", ["--bucket-bytes", 25 << 20], 50, 1),
}
FUJITSU = (512, 4, 40, 40 / 1376, V100, "200Gbit/s", HALF)
FUJITSU_IMAGES = 1.73e6  # images per second


def scaling(nodes, per_node, samples, seconds, intra, inter, more=()):
    """Returns the rows: number of devices to milliseconds, images per second, efficiency and waits."""
    text = run("plan", "--model", "resnet50", "--nodes", nodes, "--devices-per-node", per_node, "--batch",
               nodes * per_node * samples, "--device-time", 1000 * seconds, "--intra", intra, "--inter", inter, *more)
    rows = {}
    for line in text.splitlines()[3:]:
        match = re.fullmatch(r" *(\S+) +(\d+) +([\d,]+) +([\d.]+) ms +([\d,]+) +([\d.]+) % +([\d.]+) ms", line)
        assert match, text
        rows[int(match[2])] = tuple(float(match[i].replace(",", "")) for i in (4, 5, 6, 7))
    return rows


def predicted(run_of):
    nodes, per_node, samples, seconds, intra, inter, more, _, base = run_of
    rows = scaling(nodes, per_node, samples, seconds, intra, inter, more)
    return 100 * rows[nodes * per_node][2] / rows[base][2]


def a_row_for_each_number_of_nodes(folder):
    rows = scaling(12, 8, 32, 0.1, 150, "100Gbit/s")
    assert list(rows) == [1, 8, 16, 32, 64, 96], rows
    for devices, (step, images, efficiency, waits) in rows.items():
        assert abs(step - waits - 100) < 0.011 and abs(efficiency - 100 * 100 / step) < 0.06, rows
        assert abs(images - 1000 * 32 * devices / step) < 1e-3 * images, rows
    steps = [step for step, *_ in rows.values()]
    assert steps[0] == 100 and steps == sorted(steps), rows


def the_network_and_the_spread_cost_what_they_must(folder):
    ideal = ["--spread", 0]
    # The network is so slow that nothing else matters. ResNet-50 has 25.6e6 parameters.
    slow = scaling(4, 8, 32, 0.001, 1000, "0.1", ideal)[32][3]
    assert abs(slow - 1000 * 2 * 3 / 4 * 4 * 25.557e6 / 0.1e9) < 0.03 * slow, slow
    halved = scaling(4, 8, 32, 0.001, 1000, "0.1", [*ideal, *HALF])[32][3]
    assert abs(halved - slow / 2) < 0.02 * slow, (slow, halved)
    # A fast one hides all sums except the last.
    assert scaling(4, 8, 32, 0.2, 150, "100", ideal)[32][3] < 0.5
    whole = scaling(4, 8, 32, 0.2, 150, "1", [*ideal, "--bucket-bytes", 1 << 30])[32][3]
    assert whole > 2 * scaling(4, 8, 32, 0.2, 150, "1", ideal)[32][3], "one bucket overlaps nothing"
    assert whole > 1000 * 2 * 3 / 4 * 4 * 25.5e6 / 1e9, whole
    # The expected largest of 8 normal numbers is 1.42.
    assert abs(scaling(1, 8, 32, 0.1, 1e5, "400", ["--spread", 10, "--latency", 0])[8][3] - 10 * 1.42) < 0.2


def rates_have_units(folder):
    same = [scaling(2, 8, 32, 0.02, intra, inter) for intra, inter in
            ((20, "12.5"), ("20GB/s", "100Gbit/s"), ("0.02TB/s", "12500MB/s"))]
    assert same[0] == same[1] == same[2], same


def published_runs_are_predicted_with_the_errors_that_the_page_names(folder):
    page = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8")
    rows = {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in
            (line.strip("|\n ").split("|") for line in page.splitlines() if line.startswith("| "))}
    for name, run_of in PUBLISHED.items():
        found, published = predicted(run_of), run_of[-2]
        (row,) = (cells for key, cells in rows.items() if key.startswith(name))
        assert row[-3:] == [f"{published:.1f} %", f"{found:.1f} %", f"{found - published:+.1f}"], (name, row, found)
    images = scaling(*FUJITSU)[2048][1]
    assert f"{images / 1e6:.2f} million images/s, {100 * (images / FUJITSU_IMAGES - 1):.0f} % too many" in \
        " ".join(page.split()), images


def bad_values_are_one_line(folder):
    base = ["plan", "--model", "resnet50", "--nodes", 4, "--batch", 1024]
    for option, value, rest in (("--nodes", -1, "is -1; give 1 to 4096"),
                                ("--nodes", 1000, "is 1000; give at most 512, for 4096 devices in all"),
                                ("--devices-per-node", 0, "is 0; give 1 to 4096"),
                                ("--batch", 1000, "is 1000; give a multiple of 32, the devices of all nodes"),
                                ("--inter", "fast", "is 'fast'; give a rate of at least 0.001 GB/s, such as 450, 450GB/s or "
                                                    "100Gbit/s"),
                                ("--device-time", -1, "is -1; give a number of at least 0"),
                                ("--inter-latency", -1, "is -1; give a number of at least 0"),
                                ("--spread", 101, "is 101; give a number from 0 to 100")):
        words = list(base)
        if option in words:
            words[words.index(option) + 1] = value
        else:
            words += [option, value]
        assert refuse(*words) == f"troika: {option} {rest}", option
    assert "--nodes" in refuse("plan", "--model", "resnet50", "--inter", 50)
    assert "--devices" in refuse(*base, "--devices", 8)
    assert refuse(*base, "--shard-optimizer") == \
        "troika: plan: found a sharded optimizer over nodes of 8 devices, need a split by data alone"


if __name__ == "__main__":
    run_tests(globals())
