// The live page of a run, if its config or its command asks for one.
#include "server/daemon/daemon_state.h"
#include "server/ingest/ingest_settings.h"
#include "server/page/page_settings.h"
#include "server/schema/settings_keys.h"

namespace murmurate {

/// Makes the board where there is to be a page.
void Daemon::State::MakeBoard() {
  const std::string listen = parts.config.Read(PageKeys()).listen;
  if (listen == "off" || (listen.empty() && !parts.options.page)) return;
  board = std::make_unique<SnapshotBoard>([this] { parts.operate->mail().Wake(); });
}

/// A page that finds no port is only said to be missing: learning goes on without it.
Status Daemon::State::OpenPage() {
  const PageSettings settings = parts.config.Read(PageKeys());
  if (board == nullptr) {
    if (settings.control)
      parts.log(LogLevel::kWarning,
                "page.control has no effect, because this command opens no page by itself; write "
                "page.listen = \"127.0.0.1:7480\"");
    return {};
  }
  const auto address = ParsePageAddress(settings.listen.empty() ? kPageAddress : settings.listen);
  if (!address.ok()) return address.status();
  PageOptions options;
  options.address = *address;
  options.control = settings.control;
  options.hosts = settings.hosts;
  options.directory = parts.directory.path();
  options.board = board.get();
  options.admin_address = admin_address;
  options.longest_batch_s = [this](const std::string& model) {
    return parts.config.Read(AssemblyKeys(), model).max_batch_s;
  };
  auto opened = Page::Open(std::move(options));
  if (opened.ok()) {
    page = *std::move(opened);
  } else {
    parts.log(LogLevel::kWarning, opened.status().message());
  }
  return {};
}

}  // namespace murmurate
