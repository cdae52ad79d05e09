#include "tests/parameters/collective_conformance.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace murmurate {
namespace {

/// (rank + 1) (j + 1) of n ranks sum up to (j + 1) n (n + 1) / 2; whole numbers, so any order does.
std::string WrongSum(Collective& collective, std::size_t count) {
  const int n = collective.size();
  std::vector<float> values(count);
  for (std::size_t j = 0; j < count; ++j)
    values[j] = static_cast<float>((collective.rank() + 1) * static_cast<int>(j % 1000 + 1));
  if (const Status status = Sum(collective, values); !status.ok()) return status.message();
  for (std::size_t j = 0; j < count; ++j)
    if (values[j] != static_cast<float>(static_cast<int>(j % 1000 + 1) * n * (n + 1) / 2))
      return "a sum of " + std::to_string(count) + " numbers is wrong at " + std::to_string(j);
  return "";
}

/// Sums whose last bits depend on the order; rank 0's are compared with everybody's.
std::string DifferentBits(Collective& collective) {
  std::vector<float> values(10'007);
  for (std::size_t j = 0; j < values.size(); ++j)
    values[j] = std::sin(static_cast<float>(j) * 1.7f + static_cast<float>(collective.rank()));
  if (const Status status = Sum(collective, values); !status.ok()) return status.message();
  std::vector<float> first = values;
  if (const Status status = Broadcast(collective, first); !status.ok()) return status.message();
  return first == values ? "" : "ranks got different bits of one sum";
}

std::string WrongBroadcast(Collective& collective, int root) {
  std::vector<float> values(5, static_cast<float>(10 + collective.rank()));
  if (const Status status = Broadcast(collective, values, root); !status.ok())
    return status.message();
  return values == std::vector<float>(5, static_cast<float>(10 + root))
             ? ""
             : "a broadcast of rank " + std::to_string(root) + " did not arrive";
}

std::string WrongText(Collective& collective) {
  std::string text;
  for (int c = 0; c < 256; ++c) text += static_cast<char>(c);
  const auto received = BroadcastText(collective, collective.rank() == 0 ? text : "another");
  if (!received.ok()) return received.status().message();
  return *received == text ? "" : "a text did not arrive";
}

/// Each rank tells all others a number, beside sums.
std::string LostPost(Collective& collective) {
  const auto size = static_cast<std::size_t>(collective.size());
  const auto own = static_cast<std::uint64_t>(collective.rank());
  if (const Status status = collective.Post(100 + own); !status.ok()) return status.message();
  std::vector<bool> heard(size);
  for (int looks = 0; looks < 100'000; ++looks) {
    std::vector<float> values(1);
    if (const Status status = Sum(collective, values); !status.ok()) return status.message();
    const auto post = collective.NextPost();
    if (!post.ok()) return post.status().message();
    if (*post && (*post)->number != 100 + static_cast<std::uint64_t>((*post)->rank))
      return "a number came from another rank than the one that it names";
    if (*post) heard[static_cast<std::size_t>((*post)->rank)] = true;
    values[0] = static_cast<float>(std::count(heard.begin(), heard.end(), true));
    if (const Status status = Sum(collective, values); !status.ok()) return status.message();
    if (values[0] == static_cast<float>(size * (size - 1))) break;
    if (looks == 99'999) return "a number did not come";
  }
  return collective.host(collective.rank()).empty() ? "a rank's host has no name" : "";
}

/// A wait that was given up leaves the operation as it was.
std::string LostByGivingUp(Collective& collective) {
  const std::atomic<bool> interrupted{true};
  for (int i = 0; i < 100; ++i) {
    std::vector<float> values(3, 1.0f);
    if (const Status status = collective.BeginSum(values); !status.ok()) return status.message();
    (void)Await(collective, &interrupted);
    if (const auto done = Await(collective); !done.ok() || !*done)
      return "a sum was lost by a wait that was given up";
    if (values[0] != static_cast<float>(collective.size())) return "a sum is wrong after a wait";
  }
  return "";
}

}  // namespace

std::string BrokenPromise(Collective& collective) {
  if (collective.rank() < 0 || collective.rank() >= collective.size())
    return "a rank is not of 0 to size - 1";
  for (const std::size_t count : {1u, 3u, 1000u, 1'000'003u})
    if (const std::string wrong = WrongSum(collective, count); !wrong.empty()) return wrong;
  for (int i = 0; i < 300; ++i)
    if (const std::string wrong = WrongSum(collective, 2); !wrong.empty()) return wrong;
  if (const std::string wrong = DifferentBits(collective); !wrong.empty()) return wrong;
  for (int root = 0; root < collective.size(); ++root)
    if (const std::string wrong = WrongBroadcast(collective, root); !wrong.empty()) return wrong;
  if (const std::string wrong = WrongText(collective); !wrong.empty()) return wrong;
  if (const std::string lost = LostPost(collective); !lost.empty()) return lost;
  return LostByGivingUp(collective);
}

}  // namespace murmurate
