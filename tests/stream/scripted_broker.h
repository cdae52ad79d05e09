// ScriptedBroker: the other end of one connection, byte by byte as a test wants it: half a broker,
// a slow one, none at all. On a loopback port, on the test's own thread.
#pragma once

#include <string>
#include <string_view>

namespace murmurate {

class ScriptedBroker {
 public:
  ScriptedBroker();
  ~ScriptedBroker();
  ScriptedBroker(const ScriptedBroker&) = delete;
  ScriptedBroker& operator=(const ScriptedBroker&) = delete;

  std::string address(const std::string& scheme = "mqtt") const;
  /// Takes the next connection, if one waits; the one before is closed.
  bool Accept();
  /// All that has come and is not read yet.
  std::string Read();
  void Send(std::string_view bytes);
  void HangUp();  ///< an orderly end
  void Reset();   ///< an abortive one
  void StopListening();

 private:
  int listening_, connected_ = -1, port_ = 0;
};

}  // namespace murmurate
