#include "tests/pages/not_typed.h"

namespace murmurate {
namespace {

constexpr char kCleanMachine[] = "installs: scripts/stories.sh types it on a clean Debian";
constexpr char kGameStory[] = "scripts/story-test.sh types it, in the test story.game";
constexpr char kResearcherStory[] = "scripts/story-test.sh types it, in the test story.researcher";
constexpr char kStreamStory[] = "scripts/story-test.sh types it, in the test story.stream";
constexpr char kBuilds[] = "builds a tree anew, which takes minutes";
constexpr char kService[] =
    "needs root and a running systemd; tests/server/service_test.cc has the rest";
constexpr char kGpu[] = "needs a GPU; tests/package/gpu_campaign_test.py tries it without one";
constexpr char kPyPi[] = "fetches a package from PyPI";
constexpr char kOutsideActors[] = "tests/server/outside_actors_test.cc types it";
constexpr char kRanks[] = "tests/server/collective_test.cc starts ranks by mpirun";
constexpr char kTowers[] = "tests/server/distributed_examples_test.cc runs it";
constexpr char kSeeds[] = "trains five seeds until each has learned, which takes minutes";

}  // namespace

const std::vector<NotTyped>& NotTypedCommands() {
  static const std::vector<NotTyped> kCommands = {
      {"./run", kCleanMachine},
      {"./test", "is what runs this test"},
      {"./run --no-train && cmake --build --preset release --target package", kCleanMachine},
      {"sudo apt install ./build/release/*.deb", kCleanMachine},
      {"sudo apt install mosquitto mosquitto-clients", kCleanMachine},
      {"pip install ./python", kCleanMachine},
      {"python3 -m venv .venv && . .venv/bin/activate && pip install ./python gymnasium",
       kCleanMachine},
      {"murmurate serve &", kGameStory},
      {"g++ -std=c++20 game.cpp $(pkg-config --cflags --libs murmurate) && ./a.out", kGameStory},
      {"gcc game.c $(pkg-config --cflags --libs murmurate) && ./a.out", kGameStory},
      {"murmurate stop serve", kGameStory},
      {"murmurate export serve --format policy -o npc.policy", kGameStory},
      {"murmurate serve cartpole.toml &", kResearcherStory},
      {"for i in 1 2 3 4; do python actor.py & done", kResearcherStory},
      {"murmurate serve sensors.toml &", kStreamStory},
      {"mosquitto_sub -v -t 'sensors/+/forecast' & murmurate actor sensors --broker "
       "mqtt://localhost --seconds 30",
       kStreamStory},
      {"mosquitto_sub -v -t 'mill/+/forecast' & examples/messages/publish",
       "publishes for a minute; tests/stream/message_handler_test.cc runs it for a second"},
      {"examples/sensors/run",
       "runs for a minute; tests/stream/sensors_example_test.cc shortens it"},
      {"murmurate actor sensors --broker mqtt://localhost --seconds 30 --committed "
       "'sensors/{device}/committed' --status sensors/forecaster",
       "runs for half a minute; tests/server/stream_serve_test.cc has such a fleet"},
      {"murmurate top", "shows a run on a terminal; tests/top/top_run_test.cc has one of its own"},
      {"murmurate params downpour --shard 0 --set page.listen=127.0.0.1:7480",
       "serves until its workers leave; tests/page/shard_page_test.cc opens such a page"},
      {"murmurate play cartpole", "needs a terminal; tests/server/play_test.cc has one"},
      {"ffmpeg -framerate 50 -i frames/frame-%06d.png -pix_fmt yuv420p cartpole.mp4",
       "needs ffmpeg; tests/pictures/png_frames_test.cc reads the frames"},
      {"murmurate train pendulum-iql",
       "learns from a recording of 50,000 steps that does not come with it; "
       "tests/learn/iql_test.cc has iql"},
      {"pip install ./python pyarrow", kPyPi},
      {"python3 -m murmurate.arrays table.parquet --inputs a,b --labels y --to folder",
       "needs pyarrow from PyPI; python/tests/test_arrays.py has the other formats"},
      {"python3 -m murmurate.weights model.h5 --model runs/shape -o initial.safetensors",
       "needs a file of Keras; python/tests/test_weights.py makes such files"},
      {"pip install ./python minari", kPyPi},
      {"python3 -m murmurate.episodes D4RL/pointmaze/open-v2 --to folder",
       "fetches a dataset; python/tests/test_episodes.py has a small one"},
      {"murmurate params outside-actors --shard 0", kOutsideActors},
      {"murmurate serve outside-actors --worker 0 --listen tcp://127.0.0.1:7420", kOutsideActors},
      {"murmurate serve outside-actors --worker 1 --listen tcp://127.0.0.1:7520", kOutsideActors},
      {"murmurate actor cartpole --connect tcp://127.0.0.1:7420 --agents 4", kOutsideActors},
      {"murmurate actor cartpole --connect tcp://127.0.0.1:7520 --agents 4", kOutsideActors},
      {"mpirun --oversubscribe -n 4 murmurate train mpi", kRanks},
      {"mpirun -n 2 sh -c 'exec murmurate train catch --set parameters.collective=mpi --set "
       "model.device=cuda:$OMPI_COMM_WORLD_LOCAL_RANK'",
       kGpu},
      {"pip install nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cublas nvidia-cudnn-cu13", kPyPi},
      {"scripts/build.sh release", kBuilds},
      {"murmurate doctor --device cuda:0", kGpu},
      {"examples/distributed/averaged-towers.sh", kTowers},
      {"examples/distributed/asynchronous-towers.sh", kTowers},
      {"scripts/gpu-campaign.sh build", kGpu},
      {"build/gpu-campaign/gpu-campaign.sh correctness", kGpu},
      {"build/gpu-campaign/gpu-campaign.sh speed", kGpu},
      {"scripts/gpu-campaign.sh record gpu-campaign-results/results.json", kGpu},
      {"pip install tensorboard", kPyPi},
      {"tensorboard --logdir runs",
       "serves pages until it is stopped; python/tests/test_metric_sinks.py reads the same files"},
      {"tail -n +1 -F runs/cartpole/metrics.jsonl | python3 examples/metrics/mlflow_log.py "
       "cartpole",
       "needs mlflow; python/tests/test_metric_sinks.py runs the program with one in its place"},
      {"scripts/install-packages.sh client", kCleanMachine},
      {"cmake --preset client-only && cmake --build --preset client-only && cmake --install "
       "build/client-only --prefix WHERE",
       kBuilds},
      {"scripts/minimal-client.sh [FOLDER]", kBuilds},
      {"scripts/minimal-client.sh --windows", kBuilds},
      {"ssh -N -L 7480:127.0.0.1:7480 trainer.example", "needs another computer"},
      {"murmurate params own-program --shard 0 --set parameters.rule=sync --set "
       "parameters.workers=5",
       "the session data types it with the rule of the example"},
      {"python game.py red & python game.py green & python game.py blue &",
       "python/tests/test_examples.py starts these three"},
      {"for seed in 301 302 303 304 305; do murmurate train catch --seed $seed --set "
       "run.name=catch-$seed --set run.log_interval_s=0.001; murmurate eval catch-$seed; done",
       kSeeds},
      {"murmurate plot catch-301 catch-302 catch-303 catch-304 catch-305 -o catch.svg", kSeeds},
      {"sudo systemctl enable --now murmurate", kService},
      {"systemctl status murmurate", kService},
      {"sudo murmurate status /var/lib/murmurate/runs/serve", kService},
      {"sudo systemctl reload murmurate", kService},
      {"journalctl -u murmurate", kService},
      {"cmake --build --preset release --target package && mkdir -p debs && cp "
       "build/release/murmurate_*.deb debs/",
       "tests/package/package_test.cc builds the packages"},
      {"docker compose -f packaging/compose.yaml up --build",
       "needs Docker; tests/server/packaging_test.cc reads the files"},
      {"cmake --preset dev && cmake --build --preset dev", kBuilds},
      {"ctest --preset dev -R ClientSession", kBuilds},
      {"scripts/test-sanitized.sh", kBuilds},
      {"cmake --preset tsan && cmake --build --preset tsan", kBuilds},
      {"build/release/bench/bench_act", "measures for minutes"},
      {"cmake --build --preset release --target site",
       "tests/site/site_test.py is of what it makes"},
      {"scripts/stories.sh", "makes a clean Debian, which takes minutes"}};
  return kCommands;
}

}  // namespace murmurate
