// What a learner lives through: peers that take routing ids, connections beyond the limit of open
// files, a closed terminal, a stop of the processor, its folder removed.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;
const std::string kIpc = "server.listen=[\"ipc\"]";
const std::string kBoth = "server.listen=[\"tcp://127.0.0.1:*\",\"ipc\"]";

std::string AddressOf(const Workplace& place, std::size_t index = 0) {
  std::string found;
  Eventually(20, [&] {
    const auto json = nlohmann::json::parse(place.Read("runs/serve/address.json"), nullptr, false);
    if (json.is_object()) found = json["listen"][index];
    return !found.empty();
  });
  return found;
}

/// A DEALER as any program can make one.
class RawPeer {
 public:
  RawPeer(void* context, const std::string& address, const std::string& routing_id = "")
      : socket_(zmq_socket(context, ZMQ_DEALER)) {
    const int none = 0, wait = 20'000;
    zmq_setsockopt(socket_, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &wait, sizeof wait);
    if (!routing_id.empty())
      zmq_setsockopt(socket_, ZMQ_ROUTING_ID, routing_id.data(), routing_id.size());
    EXPECT_EQ(zmq_connect(socket_, address.c_str()), 0);
  }
  ~RawPeer() { zmq_close(socket_); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  /// Nonsense is answered with an ERROR.
  bool IsAnswered() {
    zmq_send(socket_, "nonsense", 8, 0);
    char answer[64];
    return zmq_recv(socket_, answer, sizeof answer, 0) >= 0;
  }

 private:
  void* socket_;
};

TEST(Endurance, PeersThatTakeTheRoutingIdsToComeDoNotEndTheLearner) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kBoth});
  const std::string address = AddressOf(place);
  void* context = zmq_ctx_new();
  {
    std::vector<std::unique_ptr<RawPeer>> peers;
    for (std::uint32_t i = 0; i < 10; ++i) {  // where rand() begins without a seed
      const std::uint32_t number = htonl(0x6b8b4567 + i);
      std::string id(1, '\0');
      id.append(reinterpret_cast<const char*>(&number), sizeof number);
      peers.push_back(std::make_unique<RawPeer>(context, address, id));
      ASSERT_TRUE(peers.back()->IsAnswered()) << serve.Errors();
    }
    RawPeer next(context, address);
    EXPECT_TRUE(next.IsAnswered()) << serve.Errors();
    EXPECT_TRUE(serve.running()) << serve.Errors();
  }
  zmq_ctx_term(context);
}

/// Connections that say nothing.
class SilentCrowd {
 public:
  ~SilentCrowd() {
    for (const int fd : fds_) close(fd);
  }
  void ConnectTcp(const std::string& address, int count) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    for (int i = 0; i < count; ++i) Connect(AF_INET, &to, sizeof to);
  }
  void ConnectIpc(const std::string& address, int count) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    address.copy(to.sun_path, sizeof to.sun_path - 1, std::string("ipc://").size());
    for (int i = 0; i < count; ++i) Connect(AF_UNIX, &to, sizeof to);
  }

 private:
  void Connect(int family, const void* address, socklen_t size) {
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ASSERT_GE(fd, 0);
    (void)connect(fd, static_cast<const sockaddr*>(address), size);
    fds_.push_back(fd);
  }
  std::vector<int> fds_;
};

int DescriptorsOf(pid_t pid) {
  std::error_code error;
  int count = 0;
  for (fs::directory_iterator at("/proc/" + std::to_string(pid) + "/fd", error), end;
       !error && at != end; at.increment(error))
    ++count;
  return count;
}

bool MayOpen(rlim_t files) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= files;
}

TEST(Endurance, ConnectionsBeyondTheLimitOfFilesLeaveItRoomForFiles) {
  if (!MayOpen(2000)) GTEST_SKIP() << "this process may not open 2,000 files";
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kBoth},
                {"bash", "-c", "ulimit -n 1024; exec \"$0\" \"$@\""});
  Process actor(place.path(), {"actor", "cartpole", "--connect", AddressOf(place, 1)});
  ASSERT_TRUE(serve.Says("model default")) << serve.Errors();
  EXPECT_TRUE(serve.Says("1024 files may be open: 9")) << serve.Output();
  SilentCrowd crowd;
  crowd.ConnectTcp(AddressOf(place), 600);
  crowd.ConnectIpc(AddressOf(place, 1), 600);
  EXPECT_TRUE(Eventually(20, [&] { return DescriptorsOf(serve.pid()) >= 1024 - 40; }));
  crowd.ConnectIpc(
      "ipc://" + AddressOf(place, 1).substr(6, AddressOf(place, 1).rfind('/') - 6) + "/admin", 50);
  (void)RunMurmurate(place.path(), {"status"});  // of itself a connection too many
  EXPECT_LE(DescriptorsOf(serve.pid()), 1024 - 32 + 8);
  EXPECT_TRUE(serve.running()) << serve.Errors();
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(20), 0) << serve.Errors();
  EXPECT_TRUE(place.Has("runs/serve/checkpoints/latest/weights.safetensors"));
  EXPECT_TRUE(place.Has("runs/serve/plots/learning.svg"));
}

TEST(Endurance, AClosedTerminalDoesNotEndALearner) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc});
  ASSERT_TRUE(serve.Says("murmurate serves")) << serve.Errors();
  Process train(place.path(), {"train", "cartpole", "--set", "run.stop_at_return=100000", "--steps",
                               "100000000"});
  ASSERT_TRUE(train.Says("  return ", 30)) << train.Errors() << train.Output();
  serve.Send(SIGHUP);
  train.Send(SIGHUP);
  EXPECT_EQ(RunMurmurate(place.path(), {"status", "serve"}).code, 0);
  EXPECT_EQ(RunMurmurate(place.path(), {"status", "cartpole"}).code, 0);
  EXPECT_TRUE(serve.running());
  EXPECT_TRUE(train.running());
  serve.Send(SIGTERM);
  train.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(10), 0) << serve.Errors();
  EXPECT_GE(train.Wait(10), 0) << train.Errors();
}

TEST(Endurance, StatusTellsALearnerThatIsBusyFromOneThatIsGone) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc});
  ASSERT_TRUE(serve.Says("murmurate serves")) << serve.Errors();
  serve.Send(SIGSTOP);
  const Ran named = RunMurmurate(place.path(), {"status", "serve"});
  EXPECT_EQ(named.code, 0) << named.errors;
  EXPECT_THAT(named.output, HasSubstr("runs/serve: alive (lock held by process " +
                                      std::to_string(serve.pid()) + "), busy: "));
  const Ran only = RunMurmurate(place.path(), {"status"});
  EXPECT_EQ(only.code, 0) << only.errors;
  EXPECT_THAT(only.output, HasSubstr(std::to_string(serve.pid()) + ": alive, busy: "));
  const Ran json = RunMurmurate(place.path(), {"status", "serve", "--json"});
  EXPECT_EQ(json.code, 5);
  EXPECT_THAT(json.errors, HasSubstr("alive (lock held by process "));
  serve.Send(SIGKILL);
  serve.Wait(10);
  const Ran gone = RunMurmurate(place.path(), {"status", "serve"});
  EXPECT_EQ(gone.code, 2);
  EXPECT_THAT(gone.errors, HasSubstr("no learner is running here"));
}

TEST(Endurance, ARunWhoseFolderWasRemovedEndsWithAnErrorThatSaysSo) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc});
  Process actor(place.path(), {"actor", "cartpole", "--connect", AddressOf(place)});
  ASSERT_TRUE(serve.Says("model default")) << serve.Errors();
  const std::string runs = place.path() + "/runs";
  std::error_code changed;  // the run renames files in it meanwhile
  for (int tries = 0; tries < 100 && fs::exists(runs); ++tries) fs::remove_all(runs, changed);
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(10), 5) << serve.Output();
  EXPECT_THAT(serve.Errors(),
              HasSubstr("runs/serve: was removed or replaced while the run used it"));
  EXPECT_THAT(serve.Output(), ::testing::Not(HasSubstr("weights in")));
}

}  // namespace
}  // namespace murmurate
