"""What TensorBoard, MLflow and Prometheus read of a real run (docs/metrics.md)."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from learner import EXECUTABLE, Learner, eventually
from prometheus_client.parser import text_string_to_metric_families
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups

import murmurate

CLONE = Path(__file__).parents[2]
ALL = {"scalars": 0, "histograms": 0, "tensors": 0}  # keep every event
QUICK = ["--set", "run.log_interval_s=0.05", "--set", "run.actors=1", "--set", "metrics.json_lines=true"]


def run_command(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
    ran = subprocess.run(
        [EXECUTABLE, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=100,
    )  # fmt: skip
    assert ran.returncode in (0, 1), ran.stdout  # 1: it did not reach the return that it was to
    return ran.stdout


def rows_of(run: Path) -> list[dict[str, str]]:
    with (run / "progress.csv").open() as file:
        return list(csv.DictReader(file))


def events_of(run: Path) -> EventAccumulator:
    return EventAccumulator(str(run), size_guidance=ALL).Reload()


def course(events: EventAccumulator, tag: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in events.Scalars(tag)]


def columns_of(run: Path) -> dict[str, list[tuple[int, float]]]:
    """(steps, value) of each column, wherever a row has one."""
    columns: dict[str, list[tuple[int, float]]] = {}
    for row in rows_of(run):
        for name, value in row.items():
            if value:
                columns.setdefault(name, []).append((int(row["time/total_timesteps"]), float(value)))
    return columns


def assert_the_same(events: EventAccumulator, run: Path) -> None:
    columns = columns_of(run)
    assert set(events.Tags()["scalars"]) == set(columns)
    for name, expected in columns.items():
        found = course(events, name)
        assert [step for step, _ in found] == [step for step, _ in expected], name
        # progress.csv has six digits, an event a float
        np.testing.assert_allclose([value for _, value in found], [value for _, value in expected], rtol=6e-6)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("sinks")
    run_command(folder, "train", "cartpole", "--set", "run.steps=40000", "--set", "run.name=r", "--set",
              "metrics.parameters=true", *QUICK)  # fmt: skip
    yield folder / "runs" / "r"


def test_tensorboard_has_the_numbers_of_progress_csv(run: Path) -> None:
    assert len(rows_of(run)) >= 3
    assert_the_same(events_of(run), run)


def test_tensorboard_has_histograms_of_waits_and_of_late_experience(run: Path) -> None:
    events = events_of(run)
    tags = events.Tags()["histograms"]
    assert {"perf/batch_wait", "actor/staleness"} < set(tags)
    assert any(tag.startswith("actor/staleness/") for tag in tags)
    batches = sum(event.histogram_value.num for event in events.Histograms("perf/batch_wait"))
    assert 1 <= batches <= 40000 / 256
    for event in events.Histograms("actor/staleness"):
        histogram = event.histogram_value
        assert sum(histogram.bucket) == histogram.num > 0
        ends = [histogram.min, *histogram.bucket_limit]
        assert ends == sorted(ends) and ends[-1] == histogram.max
        assert histogram.min in (-1, 0, 1, 3, 7)  # below the buckets 0, 1, 2-3, 4-7, 8-15


def test_tensorboard_has_the_tensors_of_the_last_checkpoint(run: Path) -> None:
    events = events_of(run / "parameters")
    assert {"policy.0.weight", "policy.head.bias", "value.head.weight"} < set(events.Tags()["histograms"])
    (weights,) = [event.histogram_value for event in events.Histograms("policy.0.weight")][-1:]
    assert weights.num == sum(weights.bucket) == 4 * 64
    assert -20 < weights.min < 0 < weights.max < 20


def provider_of(logdir: Path) -> data_provider.MultiplexerDataProvider:
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(logdir))
    multiplexer.Reload()
    return data_provider.MultiplexerDataProvider(multiplexer, str(logdir))


def test_tensorboard_shows_the_config_as_a_text(run: Path) -> None:
    provider = provider_of(run.parent)
    found = provider.read_tensors(RequestContext(), experiment_id="", plugin_name="text", downsample=10)
    (text,) = found["r"]["config"]
    assert text.numpy.item().decode() == f"```toml\n{(run / 'config.toml').read_text()}```\n"


def test_the_page_hparams_has_the_hyperparameters_and_the_metrics(run: Path) -> None:
    context = backend_context.Context(base_plugin.TBContext(data_provider=provider_of(run.parent)))
    metric = api_pb2.MetricName(tag="rollout/ep_rew_mean")
    request = api_pb2.ListSessionGroupsRequest(
        start_index=0, slice_size=10,
        allowed_statuses=[api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_RUNNING, api_pb2.STATUS_SUCCESS],
        col_params=[api_pb2.ColParams(metric=metric)],
    )  # fmt: skip
    answer = list_session_groups.Handler(RequestContext(), context, "", request).run()
    (group,) = answer.session_groups
    assert group.hparams["algorithm.name"].string_value == "ppo"
    assert group.hparams["algorithm.epochs"].number_value >= 1
    assert group.hparams["model.normalize_observation"].bool_value in (True, False)
    assert group.hparams["run.environment"].string_value == "cartpole"
    assert "run.dir" not in group.hparams
    (value,) = [value.value for value in group.metric_values if value.name.tag == "rollout/ep_rew_mean"]
    assert value == pytest.approx(columns_of(run)["rollout/ep_rew_mean"][-1][1], rel=1e-5)


def test_a_row_takes_as_many_bytes_as_the_page_says(run: Path) -> None:
    (file,) = run.glob("events.out.tfevents.*")
    numbers = sum(len(column) for column in columns_of(run).values())
    events = events_of(run)
    buckets = sum(
        len(event.histogram_value.bucket) for tag in events.Tags()["histograms"] for event in events.Histograms(tag)
    )
    fixed = 2 * (run / "config.toml").stat().st_size + 200  # and the same again as hyperparameters
    assert 20 * numbers < file.stat().st_size < 40 * numbers + 30 * buckets + fixed


def test_a_run_that_was_killed_goes_on_where_its_checkpoint_was(place: Path) -> None:
    """As a TensorBoard sees it that is started then, and one that has watched all the time."""
    run = place / "runs" / "r"
    command = [EXECUTABLE, "train", "cartpole", "--set", "run.steps=400000", "--set", "run.name=r",
               "--set", "run.stop_at_return=1e9", "--set", "checkpoint.every_steps=20000", *QUICK]  # fmt: skip
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(place)}
    with open(place / "output", "w") as output:
        first = subprocess.Popen(command, cwd=place, env=environment, stdout=output, stderr=subprocess.STDOUT)

    def is_past_a_checkpoint() -> bool:
        latest = run / "checkpoints" / "latest"
        if not latest.exists() or not (run / "progress.csv").exists():
            return False
        saved = int(os.readlink(latest).removeprefix("step-"))
        return int(rows_of(run)[-1]["time/total_timesteps"]) > saved + 3000

    try:
        assert eventually(is_past_a_checkpoint, 60), (place / "output").read_text()
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait(20)
    watching = events_of(run)
    before = course(watching, "time/total_timesteps")
    run_command(place, "resume", "runs/r", "--set", f"run.steps={before[-1][0] + 30000}")
    assert (run / "log.txt").read_text().count("of TensorBoard's events after step") == 1
    for events in (events_of(run), watching.Reload()):
        steps = [step for step, _ in course(events, "time/total_timesteps")]
        assert steps == sorted(steps)
        assert steps[-1] > before[-1][0]
    assert_the_same(events_of(run), run)
    assert_the_same(watching, run)
    assert [row["steps"] for row in json_lines_of(run)] == [step for step, _ in columns_of(run)["time/total_timesteps"]]


def json_lines_of(run: Path) -> list[dict[str, float | str]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_json_lines_have_the_numbers_of_progress_csv(run: Path) -> None:
    rows, lines = rows_of(run), json_lines_of(run)
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines):
        assert line.pop("model") == "default"
        assert line.pop("steps") == int(row["time/total_timesteps"])
        assert float(line.pop("time")) > 1.7e9
        expected = {name: float(value) for name, value in row.items() if value}
        assert line.keys() == expected.keys()
        for name, value in line.items():
            assert value == pytest.approx(expected[name], rel=6e-6), name


FAKE_MLFLOW = '''
import contextlib, json
@contextlib.contextmanager
def start_run(run_name):
    print(json.dumps(["run", run_name]))
    yield
def log_metrics(metrics, step):
    print(json.dumps(["metrics", step, metrics]))
'''
FAKE_WANDB = '''
import contextlib, json
class Run:
    def log(self, metrics, step):
        print(json.dumps(["metrics", step, metrics]))
@contextlib.contextmanager
def init(project, name):
    assert project == "murmurate"
    print(json.dumps(["run", name]))
    yield Run()
'''


@pytest.mark.skipif(not (CLONE / "examples").is_dir(), reason="needs a clone")
@pytest.mark.parametrize(("module", "fake"), [("mlflow", FAKE_MLFLOW), ("wandb", FAKE_WANDB)])
def test_the_example_feeds_a_tracker_with_every_row(run: Path, place: Path, module: str, fake: str) -> None:
    """Against a module of the same functions; with the real MLflow where it is installed."""
    example = CLONE / "examples" / "metrics" / f"{module}_log.py"
    assert len(example.read_text().splitlines()) <= 20
    (place / f"{module}.py").write_text(fake)
    with (run / "metrics.jsonl").open() as rows:
        said = subprocess.run(
            [sys.executable, str(example), "r"], stdin=rows, stdout=subprocess.PIPE, text=True, check=True, timeout=60,
            env={**os.environ, "PYTHONPATH": str(place)},
        ).stdout  # fmt: skip
    calls = [json.loads(line) for line in said.splitlines()]
    assert calls[0] == ["run", "r"]
    lines = json_lines_of(run)
    assert [step for _, step, _ in calls[1:]] == [line["steps"] for line in lines]
    for (_, _, metrics), line in zip(calls[1:], lines):
        assert metrics == {name: value for name, value in line.items() if name not in ("model", "time", "steps")}


@pytest.mark.skipif(not (CLONE / "examples").is_dir(), reason="needs a clone")
def test_the_example_feeds_the_real_mlflow(run: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed (pip install mlflow-skinny)")
    store = (place / "mlruns").as_uri()
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    with (run / "metrics.jsonl").open() as rows:
        subprocess.run(
            [sys.executable, str(CLONE / "examples" / "metrics" / "mlflow_log.py"), "r"], stdin=rows, check=True,
            timeout=60, cwd=place, env={**os.environ, "MLFLOW_TRACKING_URI": store},
        )  # fmt: skip
    client = mlflow.MlflowClient(store)
    (logged,) = client.search_runs(["0"])
    history = client.get_metric_history(logged.info.run_id, "rollout/ep_rew_mean")
    assert [(each.step, each.value) for each in history] == [
        (line["steps"], line["rollout/ep_rew_mean"]) for line in json_lines_of(run) if "rollout/ep_rew_mean" in line
    ]


def test_prometheus_reads_what_a_live_learner_says(place: Path) -> None:
    with Learner() as learner:
        address = json.loads((learner.folder / "runs" / "run" / "address.json").read_text())
        if "page" not in address:
            pytest.skip("this learner serves no page, so there is no /metrics")
        with murmurate.Actor(learner.address, env=gym.make("CartPole-v1"), name="player") as actor:
            actor.run(steps=500)
        with urllib.request.urlopen(address["page"].rstrip("/") + "/metrics", timeout=20) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            text = answer.read().decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    samples = [sample for family in families.values() for sample in family.samples]
    assert len({(sample.name, *sorted(sample.labels.items())) for sample in samples}) == len(samples)
    assert families["murmurate_train_updates"].type == "counter"
    (steps,) = families["murmurate_actor_steps"].samples
    assert steps.labels == {"actor": "player"} and steps.value > 0
    buckets = [sample for sample in families["murmurate_actor_staleness"].samples if sample.name.endswith("_bucket")]
    assert [sample.value for sample in buckets] == sorted(sample.value for sample in buckets)
    assert buckets[-1].labels["le"] == "+Inf"
    assert families["murmurate_series_left_out"].samples[0].value == 0
