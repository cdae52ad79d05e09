#include "server/data/split_source.h"

#include "shared/core/check.h"

namespace murmurate {

Result<std::unique_ptr<SplitSource>> SplitSource::Join(std::unique_ptr<DataSource> learned,
                                                       std::unique_ptr<DataSource> scored) {
  const std::string difference = FirstDifference(learned->spaces(), scored->spaces());
  if (!difference.empty())
    return InvalidData(scored->Description() + ": have other spaces than " +
                       learned->Description() + " (" + difference +
                       "); give files of the same shapes, and data.classes where the labels are "
                       "of others");
  return std::unique_ptr<SplitSource>(new SplitSource(std::move(learned), std::move(scored)));
}

Status SplitSource::PrepareFor(const ModelSpec& model, int length) {
  MURMURATE_RETURN_IF_ERROR(learned_->PrepareFor(model, length));
  return scored_->PrepareFor(model, length);
}

std::vector<DataFile> SplitSource::files() const {
  std::vector<DataFile> files = learned_->files();
  for (const DataFile& file : scored_->files()) files.push_back(file);
  return files;
}

std::vector<std::string> SplitSource::Notes() const {
  std::vector<std::string> notes = learned_->Notes();
  for (std::string& note : scored_->Notes()) notes.push_back(std::move(note));
  return notes;
}

std::string SplitSource::Description() const {
  return learned_->Description() + ", scored on " + scored_->Description();
}

}  // namespace murmurate
