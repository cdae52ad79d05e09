"""The campaign on a GPU (scripts/gpu-campaign.sh) as far as no GPU is needed: its stages and their
time limits, the programs that it asks in turns, its rows, and the text of a device.

$MURMURATE_BENCHES: the folder of the benches; without it they are left out."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts/gpu_campaign"))

import record  # noqa: E402
import speed  # noqa: E402
from campaign import Campaign, Failed, NoDevice, Peer, Skipped  # noqa: E402


class Folder(unittest.TestCase):
    """A campaign's folder with programs of the test's own."""

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="murmurate-test-"))
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        (self.place / "bin").mkdir()
        (self.place / "commit").write_text("abc1234\n")
        os.environ["OUT"] = str(self.place / "out")
        self.addCleanup(os.environ.pop, "OUT")

    def program(self, name, text):
        path = self.place / "bin" / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return str(path)

    def campaign(self, call="correctness", total_s=20):
        campaign = Campaign(self.place, call, "cuda:0", total_s=total_s)
        self.addCleanup(campaign.close)
        return campaign

    def results(self):
        return json.loads((self.place / "out/results.json").read_text())


class Stages(Folder):
    def test_one_that_takes_too_long_is_ended_and_keeps_what_it_found(self):
        pid = self.place / "pid"
        hangs = self.program("hangs", 'echo "{\\"first\\": 1}"\n'
                                      f"sleep 60 & echo $! > {pid}\nwait\n")
        campaign, start = self.campaign(), time.monotonic()
        campaign.stage("hangs", 0.5, lambda c: c.run([hangs]) and None)
        campaign.stage("next", 5, lambda _: [{"second": 2}])
        self.assertLess(time.monotonic() - start, 10)
        first, second = self.results()["correctness"]["stages"]
        self.assertEqual((first["status"], first["figures"]), ("FAILED", [{"first": 1}]))
        self.assertIn("no time was left", first["sentence"])
        self.assertEqual((second["status"], second["figures"]), ("passed", [{"second": 2}]))
        self.assertFalse(alive(int(pid.read_text())), "what it had started was ended, too")

    def test_what_was_done_is_written_before_the_next_begins(self):
        campaign, seen = self.campaign(), []
        def skips(_):
            raise Skipped("there is none")
        def fails(c):
            seen.extend(stage["status"] for stage in self.results()["correctness"]["stages"])
            c.run([self.program("fails", "echo why >&2; exit 3\n")])
        campaign.stage("passes", 5, lambda _: [])
        campaign.stage("skips", 5, skips)
        campaign.stage("fails", 5, fails)
        self.assertEqual(seen, ["passed", "skipped"])
        self.assertEqual(campaign.failed(), ["fails"])
        table = (self.place / "out/table.txt").read_text()
        self.assertRegex(table, r"correctness, commit abc1234, \d{4}-\d\d-\d\d\n")
        self.assertRegex(table, r"skipped .* skips: there is none\n")
        self.assertRegex(table, r"FAILED .* fails: exit code 3 of fails: why\n")

    def test_with_a_fault_of_their_own_do_not_end_the_campaign(self):
        campaign = self.campaign()
        campaign.stage("divides", 5, lambda _: 1 / 0)
        self.assertEqual(self.results()["correctness"]["stages"][0]["sentence"],
                         "ZeroDivisionError: division by zero")
        self.assertIn("Traceback", (self.place / "out/log.txt").read_text())

    def test_of_an_earlier_call_stay(self):
        self.campaign("correctness").stage("one", 5, lambda _: [])
        self.campaign("speed").stage("two", 5, lambda _: [])
        self.assertEqual(list(self.results()), ["correctness", "speed"])

    def test_for_which_no_time_is_left_are_skipped(self):
        campaign = self.campaign(total_s=0.2)
        campaign.stage("sleeps", 5, lambda c: time.sleep(0.3))
        campaign.stage("next", 5, lambda _: self.fail("it ran"))
        self.assertEqual(self.results()["correctness"]["stages"][1]["status"], "skipped")

    def test_end_where_there_is_no_device(self):
        from device_stage import device
        self.program("bench_device_probe", "echo 'murmurate: there is no GPU' >&2; exit 5\n")
        with self.assertRaisesRegex(NoDevice, "^there is no GPU$"):
            self.campaign().stage("device", 5, device)
        self.assertEqual(self.results()["correctness"]["stages"][0]["sentence"], "there is no GPU")


class GoogleTests(Folder):
    OUTPUT = """[ RUN      ] A.Works
[       OK ] A.Works (12 ms)
[ RUN      ] A.Breaks
a.cc:3: Failure
[  FAILED  ] A.Breaks (1500 ms)
[----------] 2 tests from A (1512 ms total)
[  FAILED  ] A.Breaks
"""

    def test_are_a_figure_each(self):
        import correctness
        self.program("device_trainer_test", f"cat <<'END'\n{self.OUTPUT}END\nexit 1\n")
        self.campaign().stage("tests", 5, correctness.tests("device_trainer_test"))
        stage = self.results()["correctness"]["stages"][0]
        self.assertEqual((stage["status"], stage["sentence"]), ("FAILED", "A.Breaks"))
        self.assertEqual(stage["figures"], [
            {"test": "A.Works", "result": "OK", "s": 0.012},
            {"test": "A.Breaks", "result": "FAILED", "s": 1.5, "said": "a.cc:3: Failure"}])

    def test_that_take_too_long_keep_those_that_ended(self):
        import correctness
        self.program("device_trainer_test", "echo '[       OK ] A.Works (12 ms)'; sleep 60\n")
        self.campaign().stage("tests", 0.5, correctness.tests("device_trainer_test"))
        stage = self.results()["correctness"]["stages"][0]
        self.assertEqual((stage["status"], len(stage["figures"])), ("FAILED", 1))


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


class Peers(Folder):
    ANSWERS = ('while read row; do echo "{\\"row\\": \\"$row\\", \\"by\\": \\"NAME\\", '
               '\\"us\\": US, \\"parameters\\": 100}"; done\n')

    def peer(self, campaign, name, us):
        text = self.ANSWERS.replace("NAME", name).replace("US", str(us))
        return Peer(campaign, name, [self.program(name, text)])

    def test_answer_in_turns(self):
        campaign = self.campaign("speed")
        peers = [self.peer(campaign, "murmurate", 10), self.peer(campaign, "torch", 55.5)]
        figures = speed.in_turns("a/1", peers)
        self.assertEqual([(figure["by"], figure["us"], figure["turns"]) for figure in figures],
                         [("murmurate", 10, [10, 10]), ("torch", 55.5, [55.5, 55.5])])
        speed.check(figures)
        for peer in peers:
            peer.end()

    def test_that_end_say_why_and_the_others_go_on(self):
        campaign = self.campaign("speed")
        ours = self.peer(campaign, "murmurate", 10)
        broken = Peer(campaign, "torch", [
            self.program("torch", "read row; echo no GPU >&2; exit 1\n")])
        figures = speed.in_turns("a/1", [ours, broken])
        self.assertEqual(figures[0]["us"], 10)
        self.assertEqual(figures[1], {"row": "a/1", "by": "torch", "error": "no GPU"})
        ours.end()

    def test_may_say_other_things_before_they_answer(self):
        campaign = self.campaign("speed")
        chatty = Peer(campaign, "torch", [self.program(
            "torch", 'while read row; do printf "a warning\\n{\\"us\\": 3}\\n"; done\n')])
        self.assertEqual([chatty.ask("a/1"), chatty.ask("a/2")], [{"us": 3}, {"us": 3}])
        chatty.end()

    def test_that_hang_are_ended(self):
        campaign = self.campaign("speed")
        hangs = Peer(campaign, "torch", [self.program("torch", "sleep 60\n")])
        campaign.stage("a/1", 0.3, lambda _: [hangs.ask("a/1")])
        self.assertIsNone(hangs.process)
        self.assertIn("no time", self.results()["speed"]["stages"][0]["sentence"])

    def test_with_another_model_are_found(self):
        ours = {"by": "murmurate", "us": 1.0, "parameters": 9155}
        speed.check([ours, {"by": "torch", "us": 1.0, "parameters": 9160}])
        with self.assertRaisesRegex(Failed, "torch has 4610 parameters, not 9155"):
            speed.check([ours, {"by": "torch", "us": 1.0, "parameters": 4610}])


class Rows(unittest.TestCase):
    def test_are_the_same_everywhere(self):
        rows = {*speed.STEPS, speed.ADAM, speed.PUBLISH}
        self.assertEqual(set(record.ROWS), rows)
        torch = (ROOT / "python/bench/torch_step.py").read_text()
        named = set(re.findall(r'^    "(\S+/\d+)": \(', torch, re.MULTILINE))
        self.assertEqual(named, set(speed.STEPS))
        added = re.findall(r'add\("(\S+)", \w+\([^)]*\), (\d+), \d+, DevicePrecision::k(\w+)\)',
                           (ROOT / "bench/device_models.cc").read_text())
        self.assertEqual({f"{model}/{rows}" for model, rows, _ in added}, set(speed.STEPS))
        for model, count, precision in added:
            self.assertRegex(torch, rf'"{model}/{count}": \(.*, {count}, "{precision.lower()}"\)')

    @unittest.skipUnless("MURMURATE_BENCHES" in os.environ, "no benches are built")
    def test_are_measured_with_this_processor_in_the_place_of_a_gpu(self):
        def lines(name, *words):
            ran = subprocess.run([pathlib.Path(os.environ["MURMURATE_BENCHES"]) / name, "--device",
                                  "host", "--small", *words], capture_output=True, text=True,
                                 timeout=60)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            return [json.loads(line) for line in ran.stdout.splitlines()]
        figures = {figure["row"]: figure for figure in lines("bench_device_step")}
        self.assertEqual(set(figures), set(record.ROWS))
        for row, figure in figures.items():
            self.assertNotIn("error", figure)
            self.assertLessEqual(figure["shortest_us"], figure["us"])
            if row in speed.STEPS:
                self.assertGreater(figure["nodes"], 3, row)
                self.assertGreater(figure["us"], 0.0)
        self.assertAlmostEqual(figures["4-64-64-2/1024"]["parameters"], 9155, delta=64)
        probes = lines("bench_device_probe")
        self.assertEqual([probe["nodes"] for probe in probes if "nodes" in probe], [1, 8, 64])
        self.assertEqual({probe["precision"] for probe in probes if "precision" in probe},
                         {"fp32", "tf32", "bf16"})

    @unittest.skipUnless("MURMURATE_BENCHES" in os.environ, "no benches are built")
    def test_that_are_none_are_refused(self):
        bench = pathlib.Path(os.environ["MURMURATE_BENCHES"]) / "bench_device_step"
        ran = subprocess.run([bench, "--device", "host", "--small", "lenet/3"],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual((ran.returncode, ran.stderr),
                         (2, "murmurate: lenet/3: there is no such row\n"))


@unittest.skipUnless("MURMURATE_BENCHES" in os.environ, "nothing is built")
class Filters(unittest.TestCase):
    def test_name_tests_that_exist(self):
        import correctness
        folder = pathlib.Path(os.environ["MURMURATE_BENCHES"]).parent / "tests/device"
        for executable, some in correctness.SMALL_TESTS:
            self.assertIn(executable, correctness.TESTS)
            for one in some.split(":"):
                listed = subprocess.run([folder / executable, "--gtest_list_tests",
                                         f"--gtest_filter={one}"], capture_output=True, text=True,
                                        timeout=20).stdout
                self.assertIn("\n  ", listed, f"{executable} has no test {one}")


DRIVER = r"""
#include <string.h>
int cuInit(unsigned flags) { return flags != 0; }
int cuDeviceGet(int *device, int index) { return *device = 40 + index, index != 2; }
int cuDeviceGetName(char *name, int most, int device) { return strcpy(name, "NVIDIA H200"), 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = 150754820096, device != 42; }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 139 ? 0x233510de
    : 1000 + attribute;
  return device != 42 || (attribute == 139 && OLD);
}
"""


@unittest.skipUnless(shutil.which("cc"), "there is no compiler of C")
class DeviceText(Folder):
    """device.json, of a driver that a library of the test's own stands in for."""

    def described(self, old):
        (self.place / "driver.c").write_text(DRIVER.replace("OLD", str(old)))
        subprocess.run(["cc", "-w", "-shared", "-fPIC", "-o", "libcuda.so.1", "driver.c"],
                       cwd=self.place, check=True)
        ran = subprocess.run([sys.executable, "-B", "-c", "import json, device_json; "
                              "print(json.dumps(device_json.describe(2)))"],
                             cwd=ROOT / "scripts/gpu_campaign", capture_output=True, text=True,
                             env=os.environ | {"LD_LIBRARY_PATH": str(self.place)})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)

    def test_has_the_keys_and_kinds_of_the_fixtures(self):
        text, fixture = self.described(0), \
            json.loads((ROOT / "tests/fixtures/gpus/h200.json").read_text())
        self.assertEqual(set(text), set(fixture))
        for key, value in fixture.items():
            self.assertIs(type(text[key]), type(value), key)
        for key in "deviceName", "deviceVer", "pciDeviceId", "totalGlobalMem", "driverVer":
            self.assertEqual(text[key], fixture[key], key)
        self.assertEqual(text["maxBlockSize"], [1002, 1003, 1004])
        self.assertEqual(text["l2CacheSize"], 1038)

    def test_of_an_older_driver_has_no_number_of_the_card(self):
        self.assertEqual(self.described(1)["pciDeviceId"], 0)

    def test_numbers_are_those_of_the_drivers_header(self):
        import device_json
        header = pathlib.Path("/usr/local/cuda/include/cuda.h")
        if not header.exists():
            self.skipTest("no CUDA toolkit is installed here")
        numbers = dict(re.findall(r"CU_DEVICE_ATTRIBUTE_(\w+) += (\d+)", header.read_text()))
        for key, name in {"multiProcessorCount": "MULTIPROCESSOR_COUNT",
                          "maxThreadsPerSM": "MAX_THREADS_PER_MULTIPROCESSOR",
                          "maxCtasPerSM": "MAX_BLOCKS_PER_MULTIPROCESSOR",
                          "maxSharedMemoryPerBlockOptin": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
                          "reservedSharedMemoryPerBlock": "RESERVED_SHARED_MEMORY_PER_BLOCK",
                          "l2CacheSize": "L2_CACHE_SIZE", "smClockRateKHz": "CLOCK_RATE",
                          "memClockRateKHz": "MEMORY_CLOCK_RATE", "warpSize": "WARP_SIZE",
                          "maxThreadsPerBlock": "MAX_THREADS_PER_BLOCK",
                          "regsPerBlock": "MAX_REGISTERS_PER_BLOCK",
                          "maxRegistersPerSM": "MAX_REGISTERS_PER_MULTIPROCESSOR",
                          "maxSharedMemoryPerBlock": "MAX_SHARED_MEMORY_PER_BLOCK",
                          "isTccDriver": "TCC_DRIVER",
                          "supportCoopLaunch": "COOPERATIVE_LAUNCH"}.items():
            self.assertEqual(device_json.ATTRIBUTES[key], int(numbers[name]), key)


if __name__ == "__main__":
    unittest.main()
