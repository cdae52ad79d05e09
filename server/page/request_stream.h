// RequestStream: the bytes of one connection as cpp-httplib reads and writes them, within bounds: so
// many bytes and seconds for a request, so many seconds for a piece of the answer.
#pragma once

#include <httplib.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace murmurate {

/// RequestLimits bound what one connection may take.
struct RequestLimits {
  std::size_t request_bytes = 32 << 10;  ///< request line, headers and body
  std::int64_t request_ns = 5'000'000'000;
  std::int64_t write_ns = 5'000'000'000;  ///< for one piece: a reader that is slower is dropped
};

/// One thread.
class RequestStream : public httplib::Stream {
 public:
  /// `fd` never blocks, and stays open while this lives. `stopping`: ends every wait within 50 ms.
  RequestStream(int fd, const RequestLimits& limits, const std::atomic<bool>* stopping);

  bool is_readable() const override;
  bool is_writable() const override;
  /// -1 when a bound is reached, 0 at the end.
  ssize_t read(char* bytes, std::size_t size) override;
  /// All of them, or -1.
  ssize_t write(const char* bytes, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  /// Always 0: cpp-httplib only compares it with FD_SETSIZE, and this stream polls descriptors of
  /// any number.
  socket_t socket() const override { return 0; }

  bool too_large() const { return too_large_; }  ///< the request had more bytes than it may have
  bool answered() const { return answered_; }    ///< something was written

 private:
  bool Await(short events, std::int64_t deadline_ns) const;
  ssize_t Fill();

  const int fd_;
  const RequestLimits limits_;
  const std::atomic<bool>& stopping_;
  const std::int64_t request_deadline_ns_;
  std::array<char, 4096> buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< of what is read and not taken, in buffer_
  std::size_t taken_ = 0;
  bool too_large_ = false, answered_ = false;
};

}  // namespace murmurate
