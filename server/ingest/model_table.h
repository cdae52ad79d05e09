// ModelTable: the models of an Ingest: each one's assembly, under the number that the session gave
// it. One thread, or under the lock of its owner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/ingest/assembly.h"
#include "server/ingest/ingest.h"

namespace murmurate {

class ModelTable {
 public:
  /// `shm`: clients of this host are told of the models' segments. The session must outlive the
  /// table.
  ModelTable(wire::ServerSession* session, bool shm) : session_(session), shm_(shm) {}

  /// Adds a model to the session and gives it an assembly; its number.
  Result<std::uint32_t> Add(const std::string& name, const OfferedModel& offered);
  std::optional<std::uint32_t> Find(const std::string& name) const;
  /// Numbers are below it.
  std::uint32_t size() const { return static_cast<std::uint32_t>(assemblies_.size()); }
  Assembly& operator[](std::uint32_t model) { return *assemblies_[model]; }
  const Assembly& operator[](std::uint32_t model) const { return *assemblies_[model]; }

 private:
  wire::ServerSession* const session_;
  const bool shm_;
  std::vector<std::unique_ptr<Assembly>> assemblies_;
  std::map<std::string, std::uint32_t> numbers_;
};

}  // namespace murmurate
