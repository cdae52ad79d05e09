// Fiber: a function with a stack of its own that runs until it yields, on the thread that resumes
// it. On x86-64 a switch is a few instructions; elsewhere it is ucontext's.
#pragma once

#include <cstddef>
#include <functional>

namespace murmurate {

class Fiber {
 public:
  /// `body` begins at the first Resume and never returns.
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void Resume();  ///< from outside
  void Yield();   ///< from inside

 private:
  struct Contexts;
  static void Enter();

  std::function<void()> body_;
  std::byte* stack_ = nullptr;  ///< its lowest page cannot be touched
  Contexts* contexts_ = nullptr;
  // AddressSanitizer wants to know of each switch.
  void* inside_fake_ = nullptr;
  const void* outside_stack_ = nullptr;
  std::size_t outside_bytes_ = 0;
};

}  // namespace murmurate
