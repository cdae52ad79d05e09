"""What `scripts/gpu-campaign.sh record` writes down of a campaign's results."""

import contextlib
import io
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts/gpu_campaign"))

import record  # noqa: E402
import speed  # noqa: E402


class Recording(unittest.TestCase):
    """Figures into the page."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="murmurate-test-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        shutil.copytree(ROOT / "docs/measurements", self.root / "docs/measurements")
        (self.root / "scripts").mkdir()
        (self.root / "tests/fixtures/gpus").mkdir(parents=True)
        shutil.copy(ROOT / "scripts/write-measurements.py", self.root / "scripts")

    def write(self, figures, trial=False):
        results = {"speed": {"commit": "abc1234", "date": "2026-12-01", "trial": trial, "stages": [
            {"stage": "all", "status": "passed", "seconds": 1, "sentence": "",
             "figures": figures}]}}
        path = self.root / "results.json"
        path.write_text(json.dumps(results))
        return path

    DEVICE = {"probe": "device", "name": "NVIDIA H200", "driver": "580.1",
              "libraries": "CUDA 13.0, cuBLASLt 13.1.0"}

    def step(self, row, us, by="murmurate", **more):
        figure = {"row": row, "by": by, "us": us, **more}
        if by == "murmurate" and row in speed.STEPS:
            figure |= {"nodes": 12, "gaps_us": 0.5, "taken_bytes": 2 << 20,
                       "planned_bytes": 1 << 20}
        return figure

    def page_after(self, figures):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(record.record(self.write(figures), self.root), 0)
        return (self.root / "docs/performance.md").read_text()

    def test_fills_rows_with_figures_peers_and_whether_they_met_their_target(self):
        (self.root / "device.json").write_text('{"deviceName": "NVIDIA H200 NVL"}\n')
        page = self.page_after([
            self.DEVICE, {"probe": "copy within the device", "gb_s": 4000.0},
            self.step("4-64-64-2/1024", 11.8),
            self.step("4-64-64-2/1024", 61.2, "PyTorch, CUDA graph", version="2.11.0"),
            self.step("4-64-64-2/1024", 400.0, "PyTorch"),
            self.step("4-64-64-2/8192", 31.0), self.step("4-64-64-2/8192", 200.0, "PyTorch"),
            self.step("adam/100M", 900.0, gb_s=3500.0), self.step("adam/100M", 950.0, "PyTorch"),
            self.step("publish/6.7MB", 1300.0)])
        def line(what):
            return next(row for row in page.splitlines() if row.startswith(f"| {what} |"))
        self.assertIn("| 11.8 us; PyTorch, CUDA graph 61.2 us, PyTorch 400 us: 5.2 x |",
                      line("4-64-64-2, both trunks, minibatch 1,024"))
        self.assertIn("| 12 us, 5 x PyTorch: met | 2026-12-01, NVIDIA H200 |",
                      line("4-64-64-2, both trunks, minibatch 1,024"))
        self.assertIn(": missed |", line("4-64-64-2, both trunks, minibatch 8,192"))
        self.assertIn("88% of the copy bandwidth", line("Adam over 100 million numbers"))
        self.assertIn(": met |", line("Adam over 100 million numbers"))
        self.assertIn("| 1.3 ms |", line("publishing 6.7 MB, from the device to a reader's copy"))
        self.assertIn("at most 4% (4-64-64-2/1024: 12 launches)",
                      line("gaps between launches inside a step"))
        self.assertIn("not measured: no GPU was at hand", line("LSTM 128, 64 sequences of 128"))
        self.assertIn("| NVIDIA H200 | driver 580.1, CUDA 13.0, cuBLASLt 13.1.0, PyTorch 2.11.0; "
                      "murmurate abc1234 |", page)
        self.assertNotIn("No row was measured", page)
        self.assertTrue((self.root / "tests/fixtures/gpus/h200-nvl.json").exists())

    def test_without_a_peer_no_row_meets_its_target(self):
        page = self.page_after([self.DEVICE, self.step("4-64-64-2/1024", 1.0)])
        self.assertIn("| 1 us |", page)
        self.assertIn("12 us, 5 x PyTorch: missed", page)

    def test_again_replaces_what_the_same_device_had(self):
        self.page_after([self.DEVICE, self.step("publish/6.7MB", 1300.0)])
        page = self.page_after([self.DEVICE, self.step("publish/6.7MB", 900.0)])
        self.assertIn("| 900 us |", page)
        self.assertNotIn("1.3 ms |", page)
        self.assertIn("1.2 ms: met", page)

    def test_of_results_without_a_device_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "name no device"):
            record.record(self.write([self.step("publish/6.7MB", 1.0)]), self.root)

    def test_of_a_trial_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "measured no GPU"):
            record.record(self.write([self.DEVICE], trial=True), self.root)


if __name__ == "__main__":
    unittest.main()
