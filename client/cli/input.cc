#include "client/cli/input.h"

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "client/cli/failure.h"
#include "client/cli/text.h"
#include "client/cpp/digest.h"

namespace onced::cli {
namespace {

std::string LastError() { return std::generic_category().message(errno); }

// Nothing more is kept once it was too large.
class BlobBuilder {
 public:
  explicit BlobBuilder(std::size_t keep_max) : keep_max_(keep_max) {}

  bool too_large() const { return blob_.too_large; }

  void Add(absl::string_view bytes) {
    digest_.Add(bytes);
    blob_.size += static_cast<std::int64_t>(bytes.size());
    if (static_cast<std::size_t>(blob_.size) > keep_max_) {
      blob_.too_large = true;
      blob_.bytes.clear();
    } else {
      blob_.bytes.append(bytes.data(), bytes.size());
    }
  }

  Blob Finish() && {
    blob_.sha256 = digest_.Finish();
    return std::move(blob_);
  }

 private:
  const std::size_t keep_max_;
  Blob blob_;
  client::Sha256Stream digest_;
};

absl::StatusOr<Blob> ReadAll(std::istream& in, absl::string_view name, std::size_t keep_max,
                             Beyond beyond) {
  BlobBuilder builder(keep_max);
  std::string chunk(64 * 1024, '\0');
  do {
    errno = 0;
    in.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    if (in.bad()) return UsageError(absl::StrCat("can't read ", name, ": ", LastError()));
    builder.Add(absl::string_view(chunk).substr(0, static_cast<std::size_t>(in.gcount())));
  } while (in && !(builder.too_large() && beyond == Beyond::kOfNoUse));
  return std::move(builder).Finish();
}

}  // namespace

absl::StatusOr<Blob> Input::Read(const std::string& path, std::size_t keep_max, Beyond beyond) {
  if (path == "-") {
    if (standard_taken_) return UsageError("the standard input can't be read twice");
    standard_taken_ = true;
    return ReadAll(standard_, "the standard input", keep_max, beyond);
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return UsageError(absl::StrCat("can't open ", Printable(path), ": ", LastError()));
  return ReadAll(file, Printable(path), keep_max, beyond);
}

Blob Input::FromText(const std::string& text, std::size_t keep_max) {
  BlobBuilder builder(keep_max);
  builder.Add(text);
  return std::move(builder).Finish();
}

}  // namespace onced::cli
