// Each path of the page, asked for by a real client.
#include "server/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "server/page/assets.h"
#include "tests/page/live_page.h"
#include "tests/page/raw_request.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Page, ServesItsFilesWithAPolicyThatFetchesNothingFromElsewhere) {
  const LivePage live;
  auto client = live.client();
  for (const PageAsset& asset : PageAssets()) {
    const auto answer = client.Get(std::string(asset.path));
    ASSERT_TRUE(answer) << asset.path;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, asset.text);
    EXPECT_EQ(answer->get_header_value("Content-Type"), asset.type);
    EXPECT_THAT(answer->get_header_value("Content-Security-Policy"),
                AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self';")));
    EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff");
    EXPECT_FALSE(answer->has_header("Access-Control-Allow-Origin"));
  }
  const auto page = client.Get("/");
  EXPECT_EQ(page->body.find("style="), std::string::npos) << "the policy would drop it";
  EXPECT_FALSE(std::regex_search(page->body, std::regex("(src|href)=\"(https?:)?//")));
}

TEST(Page, HeadHasNoBody) {
  const LivePage live;
  const auto answer = live.client().Head("/page.css");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_THAT(answer->body, IsEmpty());
}

TEST(Page, StatusAndMetricsAreASnapshotAtMostASecondOld) {
  LivePage live;
  const std::int64_t begun_ns = MonotonicNs();
  const auto status = live.client().Get("/api/status");
  ASSERT_TRUE(status);
  EXPECT_EQ(Json::parse(status->body)["run"], "hero");
  const auto metrics = live.client().Get("/api/metrics");
  ASSERT_TRUE(metrics);
  double steps = 0;
  const Json numbers = Json::parse(metrics->body);
  for (const Json& metric : numbers["metrics"])
    if (metric["name"] == "time/total_timesteps") steps = metric["value"];
  EXPECT_EQ(steps, 1234);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(live.client().Get("/api/status")->status, 200);
  const std::int64_t seconds = (MonotonicNs() - begun_ns) / kNanosecondsPerSecond;
  EXPECT_LE(live.snapshots(), 2 + seconds) << "answers within a second share one";
}

TEST(Page, NothingIsMadeWhileNoReaderAsks) {
  LivePage live;
  EXPECT_EQ(live.client().Get("/page.css")->status, 200);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(live.snapshots(), 0);
}

TEST(Page, ADaemonThatDoesNotAnswerIsNotHealthy) {
  const LivePage live(LivePage::Given{.answers = false});
  const auto health = live.client().Get("/healthz");
  ASSERT_TRUE(health);
  EXPECT_EQ(health->status, 503);
  EXPECT_THAT(health->body, HasSubstr("has not answered"));
}

TEST(Page, IsReadyWithoutActorsOrWithABatchThatIsNotTooOld) {
  LivePage live;
  EXPECT_EQ(live.client().Get("/healthz")->body, "ok\n");
  EXPECT_EQ(live.client().Get("/readyz")->status, 200) << "no actor is attached";
  RunSnapshot snapshot{.at_ns = 100 * kNanosecondsPerSecond, .status = "", .live_actors = 2};
  const LongestBatch longest = [](const std::string& model) { return model == "slow" ? 60. : 10.; };
  EXPECT_THAT(WhyNotReady(snapshot, longest), HasSubstr("no model yet"));
  snapshot.batches = {{"npc", 0}};
  EXPECT_EQ(WhyNotReady(snapshot, longest), "model npc has learned from no batch yet");
  snapshot.batches = {{"npc", 85 * kNanosecondsPerSecond}};
  EXPECT_EQ(WhyNotReady(snapshot, longest), "model npc learned from its last batch 15 s ago");
  snapshot.paused = true;
  EXPECT_EQ(WhyNotReady(snapshot, longest), "") << "it does as it was told";
  snapshot.paused = false;
  snapshot.unpaused_ns = 95 * kNanosecondsPerSecond;
  EXPECT_EQ(WhyNotReady(snapshot, longest), "") << "the next batch is on its way";
  snapshot.unpaused_ns = 89 * kNanosecondsPerSecond;
  EXPECT_EQ(WhyNotReady(snapshot, longest), "model npc learned from its last batch 15 s ago");
  snapshot.batches.emplace_back("slow", 45 * kNanosecondsPerSecond);
  EXPECT_EQ(WhyNotReady(snapshot, longest), "") << "by its own longest batch";
  live.Change([](RunSnapshot* later) { later->live_actors = 1; });
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // the last one is too old then
  const auto ready = live.client().Get("/readyz");
  EXPECT_EQ(ready->status, 503);
  EXPECT_THAT(ready->body, HasSubstr("no model yet"));
}

TEST(Page, RefusesAHostThatIsNotItsOwn) {
  const LivePage live(LivePage::Given{.hosts = {"trainer.example"}});
  auto client = live.client();
  for (const char* path : {"/", "/api/status", "/api/events", "/nothing"}) {
    const auto answer = client.Get(path, {{"Host", "evil.example"}});
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 421) << path;
    EXPECT_THAT(answer->body, HasSubstr("page.hosts"));
  }
  EXPECT_EQ(client.Get("/page.css", {{"Host", "trainer.example"}})->status, 200);
  const RawConnection none(live.port());
  none.Send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(none.ReceiveAll(5), HasSubstr(" 421 "));
  const RawConnection two(live.port());
  two.Send("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n");
  EXPECT_THAT(two.ReceiveAll(5), HasSubstr(" 421 "));
}

TEST(Page, OnlyReadsUnlessControlIsOn) {
  LivePage live;
  auto client = live.client();
  EXPECT_EQ(client.Post("/api/stop", "", "text/plain")->status, 403);
  EXPECT_EQ(client.Put("/api/status", "", "text/plain")->status, 405);
  EXPECT_EQ(client.Delete("/")->status, 405);
  EXPECT_EQ(client.Options("/")->status, 405);
  EXPECT_EQ(client.Get("/api/stop")->status, 405);
  EXPECT_EQ(client.Get("/none")->status, 404);
  EXPECT_EQ(client.Get("/../page.css")->status, 404);
  EXPECT_THAT(live.commands(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(live.run() + "/page.token"));
  EXPECT_EQ(live.page().control_url(), live.page().url());
}

TEST(Page, ControlNeedsTheTokenThatOnlyTheUserReads) {
  LivePage live(LivePage::Given{.control = true});
  auto client = live.client();
  struct stat file {};
  ASSERT_EQ(stat((live.run() + "/page.token").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  EXPECT_EQ(live.page().control_url(), live.page().url() + "#token=" + live.token());
  for (const httplib::Headers& headers :
       {httplib::Headers{}, httplib::Headers{{"X-Murmurate-Token", "wrong"}},
        httplib::Headers{{"X-Murmurate-Token", live.token()}, {"Origin", "http://evil.example"}},
        httplib::Headers{{"X-Murmurate-Token", live.token()}, {"Host", "evil.example"}}}) {
    const auto answer = client.Post("/api/stop", headers, "", "text/plain");
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->status == 403 || answer->status == 421) << answer->status;
  }
  EXPECT_THAT(live.commands(), IsEmpty());
  for (const PageAsset& asset : PageAssets())
    EXPECT_EQ(client.Get(std::string(asset.path))->body.find(live.token()), std::string::npos);
}

TEST(Page, ControlStopsSetsAndAsksForCheckpoints) {
  LivePage live(LivePage::Given{.control = true});
  auto client = live.client();
  std::string origin = live.page().url();
  origin.pop_back();
  const httplib::Headers headers{{"X-Murmurate-Token", live.token()}, {"Origin", origin}};
  const auto post = [&](const char* path, const std::string& body) {
    const auto answer = client.Post(path, headers, body, "text/plain");
    return answer ? std::to_string(answer->status) + ' ' + answer->body : "none";
  };
  EXPECT_EQ(post("/api/checkpoint", ""), "200 did checkpoint\n");
  EXPECT_EQ(post("/api/set", "difficulty=2"), "200 did set difficulty=2\n");
  EXPECT_EQ(post("/api/set", "bad=1"), "400 no such setting\n");
  EXPECT_THAT(post("/api/set", "no assignment"), HasSubstr("400 expected NAME=VALUE"));
  EXPECT_THAT(post("/api/set", "a=1\nstop"), HasSubstr("400 "));
  EXPECT_THAT(post("/api/set", "a=" + std::string(300, '1')), HasSubstr("400 "));
  EXPECT_EQ(post("/api/stop", ""), "200 did stop\n");
  EXPECT_THAT(live.commands(), ElementsAre("checkpoint", "set difficulty=2", "set bad=1", "stop"));
}

/// The text of /api/events until it holds `wanted` or 20 s have passed.
std::string EventsUntil(const LivePage& live, const std::string& wanted) {
  auto client = live.client();
  std::string all;
  const std::int64_t deadline = MonotonicNs() + 20 * kNanosecondsPerSecond;
  client.Get("/api/events", [&](const char* bytes, std::size_t count) {
    all.append(bytes, count);
    return all.find(wanted) == std::string::npos && MonotonicNs() < deadline;
  });
  return all;
}

TEST(Page, EventsHaveTheStatusTheFilesAndWhatChanges) {
  LivePage live;
  std::ofstream(live.run() + "/log.txt") << "begun\n";
  std::ofstream(live.run() + "/progress.csv")
      << "time/total_timesteps,rollout/ep_rew_mean\n100,9.5\n";
  const std::string events = EventsUntil(live, "event: checkpoints");
  EXPECT_THAT(events, HasSubstr("event: page\ndata: {\"control\":false}\n\n"));
  EXPECT_THAT(events, HasSubstr("event: status\ndata: {\"run\":\"hero\""));
  EXPECT_THAT(events, HasSubstr("event: metrics\ndata: {\"metrics\":"));
  EXPECT_THAT(events, HasSubstr("\"rollout/ep_rew_mean\":[[100,9.5]]"));
  EXPECT_THAT(events, HasSubstr("event: log\ndata: {\"lines\":[\"begun\"]}\n\n"));
  live.Change([](RunSnapshot* later) { later->status = "{\"run\":\"renamed\"}"; });
  EXPECT_THAT(EventsUntil(live, "renamed"), HasSubstr("renamed"));
}

TEST(Page, TheReadersOfEventsAreLimited) {
  const LivePage live(LivePage::Given{.most_streams = 1});
  {
    const RawConnection first(live.port());
    first.Send("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(first.ReceiveUntil("event: status", 20), HasSubstr("event: status"));
    const auto second = live.client().Get("/api/events");
    ASSERT_TRUE(second);
    EXPECT_EQ(second->status, 503);
    EXPECT_THAT(second->body, HasSubstr("close another page"));
  }
  std::string events;  // a place is free when the daemon has noticed that the first has gone
  const std::int64_t deadline = MonotonicNs() + 20 * kNanosecondsPerSecond;
  while (events.find("event: ") == std::string::npos && MonotonicNs() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    events = EventsUntil(live, "\n\n");
  }
  EXPECT_THAT(events, HasSubstr("event: "));
}

TEST(Page, EndsAtOnceWhateverIsOpen) {
  auto live = std::make_unique<LivePage>();
  const RawConnection stream(live->port()), silent(live->port()), half(live->port());
  stream.Send("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  half.Send("GET / HTTP/1.1\r\nHost: loc");
  EXPECT_THAT(stream.ReceiveUntil("event: status", 20), HasSubstr("event: status"));
  const std::int64_t before = MonotonicNs();
  live.reset();
  EXPECT_LT(MonotonicNs() - before, 4 * kNanosecondsPerSecond);
  EXPECT_TRUE(stream.Closed(5));
}

}  // namespace
}  // namespace murmurate
