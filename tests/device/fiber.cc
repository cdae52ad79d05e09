#include "tests/device/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "shared/core/check.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace murmurate {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kStackBytes = 256 << 10;
void StartSwitch(void** fake, const void* stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(fake, stack, bytes);
}
void FinishSwitch(void* fake, const void** stack, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(fake, stack, bytes);
}
/// The frames that a fiber was left in are gone.
void ForgetFrames(void* stack) { __asan_unpoison_memory_region(stack, kStackBytes); }
#else
constexpr std::size_t kStackBytes = 64 << 10;
void StartSwitch(void**, const void*, std::size_t) {}
void FinishSwitch(void*, const void**, std::size_t*) {}
void ForgetFrames(void*) {}
#endif

constinit thread_local Fiber* entering = nullptr;

}  // namespace

#ifdef __x86_64__

struct Fiber::Contexts {
  void* inside;  ///< stack pointers
  void* outside;

  Contexts(std::byte* stack, std::size_t top_bytes, void (*enter)()) {
    auto* top = reinterpret_cast<std::uintptr_t*>(stack + top_bytes);
    *--top = 0;  // where Enter would return to
    *--top = reinterpret_cast<std::uintptr_t>(enter);
    for (int saved = 0; saved < 6; ++saved) *--top = 0;
    inside = top;
  }
  void Resume();
  void Yield();
};

// Keeps the registers that a function must keep, and goes on with the other stack.
asm(R"(
.pushsection .text
.type murmurate_switch_stack, @function
murmurate_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size murmurate_switch_stack, . - murmurate_switch_stack
.popsection
)");
extern "C" void murmurate_switch_stack(void** from, void* to);

void Fiber::Contexts::Resume() { murmurate_switch_stack(&outside, inside); }
void Fiber::Contexts::Yield() { murmurate_switch_stack(&inside, outside); }

#else

struct Fiber::Contexts {
  ucontext_t inside, outside;

  Contexts(std::byte* stack, std::size_t top_bytes, void (*enter)()) {
    getcontext(&inside);
    inside.uc_stack = {.ss_sp = stack, .ss_flags = 0, .ss_size = top_bytes};
    inside.uc_link = nullptr;
    makecontext(&inside, enter, 0);
  }
  void Resume() { swapcontext(&outside, &inside); }
  void Yield() { swapcontext(&inside, &outside); }
};

#endif

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {
  void* const memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  MURMURATE_CHECK(memory != MAP_FAILED, "a fiber needs a stack");
  stack_ = static_cast<std::byte*>(memory);
  mprotect(stack_, static_cast<std::size_t>(getpagesize()), PROT_NONE);
  // Stacks that begin at the same place of a page would share a few lines of the cache.
  static thread_local std::size_t made = 0;
  const std::size_t top = kStackBytes - made++ % 40 * 320;
  contexts_ = new Contexts(stack_, top, &Fiber::Enter);
}

Fiber::~Fiber() {
  delete contexts_;
  ForgetFrames(stack_);
  munmap(stack_, kStackBytes);
}

void Fiber::Resume() {
  entering = this;
  void* fake = nullptr;
  StartSwitch(&fake, stack_, kStackBytes);
  contexts_->Resume();
  FinishSwitch(fake, nullptr, nullptr);
}

void Fiber::Yield() {
  StartSwitch(&inside_fake_, outside_stack_, outside_bytes_);
  contexts_->Yield();
  FinishSwitch(inside_fake_, &outside_stack_, &outside_bytes_);
}

void Fiber::Enter() {
  Fiber* const fiber = entering;
  FinishSwitch(nullptr, &fiber->outside_stack_, &fiber->outside_bytes_);
  fiber->body_();
  MURMURATE_CHECK(false, "a fiber's body never returns");
}

}  // namespace murmurate
