#include <pthread.h>  // mingw's

#include <utility>

#include "shared/core/platform.h"

namespace murmurate {

// There are no signals to block.
std::thread StartThread(std::string name, std::function<void()> body) {
  return std::thread([name = std::move(name), body = std::move(body)] {
    pthread_setname_np(pthread_self(), name.c_str());
    body();
  });
}

}  // namespace murmurate
