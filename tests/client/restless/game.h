// A game with four numbers to see and two things to do, through the C library or the C++ client.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>

namespace murmurate {

/// Leaving one without Close is the point of it: the destructor closes nothing.
class RestlessGame {
 public:
  struct Numbers {
    std::uint64_t steps = 0, sent = 0, version = 0;
  };
  virtual ~RestlessGame() = default;
  virtual void Step() = 0;
  virtual Numbers Count() = 0;
  virtual void CloseAgent() = 0;
  virtual void CloseClient() = 0;
  /// In a forked child: what was made before the fork cannot be used, and says so.
  virtual bool SaysItIsForked() = 0;
};

/// `library`: what dlopen gave for libmurmurate.so.
std::unique_ptr<RestlessGame> NewCGame(void* library, const char* address, const std::string& name);
std::unique_ptr<RestlessGame> NewCppGame(const char* address, const std::string& name);

/// Plays for so many milliseconds, now and then with a breath: others need the processors.
void PlayFor(RestlessGame& game, int milliseconds);

}  // namespace murmurate
