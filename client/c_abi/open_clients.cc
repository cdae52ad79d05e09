#include "client/c_abi/open_clients.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace murmurate::c_abi {
namespace {

/// One for each process: a parent's mutex may have been held when it forked.
struct OpenClients {
  const HomeProcess home;
  std::mutex mutex;
  std::vector<ClientCore*> clients;
};

std::atomic<OpenClients*> open_clients{nullptr};
std::atomic<int> visitors{0};  ///< threads that may hold what open_clients was

OpenClients& OfThisProcess() {
  OpenClients* held = open_clients.load();
  while (held == nullptr || held->home.left()) {
    auto made = std::make_unique<OpenClients>();
    if (open_clients.compare_exchange_strong(held, made.get())) return *made.release();
  }
  return *held;
}

template <typename Change>
void ChangeOpenClients(Change change) {
  ++visitors;
  OpenClients& open = OfThisProcess();
  {
    std::lock_guard lock(open.mutex);
    change(open.clients);
  }
  --visitors;
}

struct AtTheEnd {
  ~AtTheEnd() {
    OpenClients* const open = open_clients.load();
    if (open == nullptr || open->home.left()) return;
    {
      std::lock_guard lock(open->mutex);
      for (ClientCore* client : open->clients) client->Stop();
    }
    if (open_clients.exchange(nullptr) == open && visitors == 0) delete open;
  }
} at_the_end;

}  // namespace

void AddOpenClient(ClientCore* client) {
  ChangeOpenClients([&](auto& clients) { clients.push_back(client); });
}

void RemoveOpenClient(ClientCore* client) {
  ChangeOpenClients([&](auto& clients) { std::erase(clients, client); });
}

}  // namespace murmurate::c_abi
