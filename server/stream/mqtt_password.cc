#include "server/stream/mqtt_password.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxPassword = 65535;

Result<std::string> Checked(const std::string& where, std::string password) {
  if (password.empty()) return InvalidArgument(where + " is empty; write the password into it");
  if (password.size() > kMaxPassword) {
    return InvalidArgument(where +
                           " holds more than the 65,535 bytes that MQTT allows; write "
                           "only the password into it");
  }
  if (password.find_first_of(std::string_view("\0\r\n", 3)) != password.npos) {
    return InvalidArgument(where +
                           " holds more than one line, or a zero byte; write only the "
                           "password into it");
  }
  return password;
}

}  // namespace

Status CheckSecretFile(const std::string& what, const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) {
    return InvalidArgument(what + " '" + path + "' cannot be read (" + strerror(errno) +
                           "); correct the path");
  }
  if (!S_ISREG(about.st_mode)) {
    return InvalidArgument(what + " '" + path + "' is no file; correct the path");
  }
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return InvalidArgument(what + " '" + path +
                           "' is open to other users; close it with: chmod 600 " + path);
  }
  return {};
}

Result<std::string> ReadPasswordFile(const std::string& path) {
  MURMURATE_RETURN_IF_ERROR(CheckSecretFile("the password's file", path));
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxPassword + 3, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    return InvalidArgument("the password's file '" + path +
                           "' cannot be read; correct the path or its owner");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return Checked("the password's file '" + path + "'", std::move(text));
}

Result<std::string> ReadPasswordVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) {
    return InvalidArgument("the environment has no variable " + name +
                           "; set it to the broker's password");
  }
  return Checked("the environment variable " + name, value);
}

}  // namespace murmurate
