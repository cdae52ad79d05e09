// RequestRules: which requests the page answers, by their headers alone.
//
// A web page of another site may send requests to this host with a browser's help. So the name in
// Host must be one that this page has: a name that its owner has pointed here (DNS rebinding) is
// refused. What changes the run needs besides a token that only its user reads, and an Origin that
// is the page's own.
#pragma once

#include <string>
#include <vector>

namespace murmurate {

class RequestRules {
 public:
  /// `listening`: the host that the page listens on; `further`: page.hosts. `token`: "": nothing may
  /// be changed.
  RequestRules(const std::string& listening, const std::vector<std::string>& further,
               std::string token);

  /// Whether a Host header names this page: loopback's names and numbers, the host that it listens
  /// on, page.hosts; any port, because a tunnel may have another one.
  bool IsOwnHost(const std::string& host) const;
  /// "" or the sentence with which a request to change something is refused. `origin`: "": it has
  /// none, so no browser has sent it.
  std::string WhyNoControl(const std::string& host, const std::string& origin,
                           const std::string& token) const;
  bool control() const { return !token_.empty(); }

 private:
  std::vector<std::string> hosts_;  ///< in small letters
  const std::string token_;
};

/// 32 hexadecimal digits from the system's random numbers.
std::string RandomToken();

}  // namespace murmurate
