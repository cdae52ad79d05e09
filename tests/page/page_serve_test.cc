// The page of real learners.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/page/page_of_run.h"
#include "tests/page/raw_request.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

bool HasThread(const Process& process, const std::string& name) {
  const std::string tasks = "/proc/" + std::to_string(process.pid()) + "/task";
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
    std::string comm;
    std::getline(std::ifstream(task.path() / "comm"), comm);
    if (comm == name) return true;
  }
  return false;
}

TEST(PageOfServe, IsPrintedShowsTheRunAndEndsWithIt) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc, "--set", kAnyPort});
  const int port = AwaitPage(place, "serve");
  ASSERT_GT(port, 0) << serve.Errors();
  EXPECT_TRUE(serve.Says("the live page is http://127.0.0.1:" + std::to_string(port) + "/\n"));
  EXPECT_TRUE(Eventually(5, [&] { return HasThread(serve, "mmr-page"); }));
  auto client = ClientOf(port);
  EXPECT_THAT(client.Get("/")->body, HasSubstr("Learning curves"));
  EXPECT_EQ(client.Get("/healthz")->body, "ok\n");
  EXPECT_EQ(client.Get("/readyz")->body, "ready\n");
  const Json status = Json::parse(client.Get("/api/status")->body);
  EXPECT_EQ(status["run"], "serve");
  EXPECT_EQ(status["pid"], serve.pid());
  EXPECT_THAT(client.Get("/metrics")->body, HasSubstr("# TYPE murmurate_"));
  EXPECT_THAT(client.Get("/api/config")->body, HasSubstr("[algorithm]"));
  EXPECT_EQ(client.Post("/api/stop", "", "text/plain")->status, 403);
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(10), 0) << serve.Errors();
  EXPECT_FALSE(RawConnection(port).connected());
  EXPECT_EQ(place.LeftBehind(), "");
}

TEST(PageOfServe, TakesTheNextFreePort) {
  Workplace place;
  Process first(place.path(), {"serve", "--set", kIpc, "--set", kAnyPort});
  const int taken = AwaitPage(place, "serve");
  ASSERT_GT(taken, 0) << first.Errors();
  Process second(place.path(), {"serve", "--set", kIpc, "--set", "run.name=second", "--set",
                                "page.listen=127.0.0.1:" + std::to_string(taken)});
  const int port = AwaitPage(place, "second");
  EXPECT_GT(port, taken) << second.Errors();
  EXPECT_LT(port, taken + 32);
  EXPECT_EQ(Json::parse(ClientOf(port).Get("/api/status")->body)["run"], "second");
}

TEST(PageOfServe, IsNotThereWhenOffAndNeitherWithTrain) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc, "--set", "page.listen=off"});
  Process train(place.path(), {"train", "cartpole", "--set", "run.stop_at_return=1000", "--set",
                               "run.steps=100000000"});
  ASSERT_TRUE(serve.Says("murmurate serves")) << serve.Errors();
  ASSERT_TRUE(train.Says("  return ")) << train.Errors();
  EXPECT_EQ(PageOf(place, "serve"), "");
  EXPECT_EQ(PageOf(place, "cartpole"), "");
  EXPECT_FALSE(HasThread(serve, "mmr-page"));
  EXPECT_FALSE(HasThread(train, "mmr-page"));
  EXPECT_THAT(serve.Output(), Not(HasSubstr("live page")));
}

TEST(PageOfServe, RefusesAddressesThatAreWrongOrOpenToOtherHosts) {
  Workplace place;
  const Ran wrong = RunMurmurate(place.path(), {"serve", "--set", "page.listen=localhost"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.errors,
              HasSubstr("page.listen: got \"localhost\", expected \"off\" or HOST:PORT"));
  const Ran open = RunMurmurate(place.path(), {"serve", "--set", "page.listen=0.0.0.0:7480"});
  EXPECT_EQ(open.code, 2);
  EXPECT_THAT(open.errors, HasSubstr("the page asks for no password"));
}

TEST(PageOfServe, SteersTheRunWithItsToken) {
  Workplace place;
  const std::string config = place.Write("c.toml", R"([settings]
difficulty = 1
[checkpoint]
every_s = 0
)");
  Process serve(place.path(), {"serve", config, "--set", kIpc, "--set", kAnyPort, "--set",
                               "page.control=true", "--set", "run.name=c"});
  const int port = AwaitPage(place, "c");
  ASSERT_GT(port, 0) << serve.Errors();
  std::string token = place.Read("runs/c/page.token");
  token = token.substr(0, token.find('\n'));
  EXPECT_TRUE(serve.Says("/#token=" + token)) << serve.Output();
  auto client = ClientOf(port);
  const httplib::Headers headers{{"X-Murmurate-Token", token}};
  EXPECT_EQ(client.Post("/api/set", headers, "difficulty=3", "text/plain")->body,
            "difficulty: 1 -> 3\n");
  EXPECT_TRUE(Eventually(5, [&] {  // a snapshot is at most a second old
    return Json::parse(client.Get("/api/status")->body)["settings"]["difficulty"] == 3;
  }));
  EXPECT_EQ(client.Post("/api/set", headers, "nothing=3", "text/plain")->status, 400);
  EXPECT_EQ(client.Post("/api/stop", headers, "", "text/plain")->status, 200);
  EXPECT_EQ(serve.Wait(10), 0) << serve.Errors();
  EXPECT_FALSE(place.Has("runs/c/page.token"));
}

TEST(PageOfTrain, WritesACheckpointWhenItIsAskedFor) {
  Workplace place;
  Process train(place.path(), {"train", "cartpole", "--set", kAnyPort, "--set", "page.control=true",
                               "--set", "checkpoint.every_s=0", "--set", "run.stop_at_return=1000",
                               "--set", "run.steps=100000000", "--set", "evaluation.every=0"});
  const int port = AwaitPage(place, "cartpole");
  ASSERT_GT(port, 0) << train.Errors();
  ASSERT_TRUE(train.Says("  return ")) << train.Errors();
  EXPECT_FALSE(place.Has("runs/cartpole/checkpoints/latest"));
  std::string token = place.Read("runs/cartpole/page.token");
  token = token.substr(0, token.find('\n'));
  auto client = ClientOf(port);
  const auto answer =
      client.Post("/api/checkpoint", {{"X-Murmurate-Token", token}}, "", "text/plain");
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_TRUE(Eventually(
      10, [&] { return place.Has("runs/cartpole/checkpoints/latest/weights.safetensors"); }));
}

}  // namespace
}  // namespace murmurate
