// What a disk holds after the power had failed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/check.h"
#include "tests/fault/onced_faulty/power_journal.h"

namespace onced::fault {
namespace {

namespace fs = std::filesystem;

struct Change {
  enum class Kind : std::uint8_t { kCreate, kDelete, kRename };
  Kind kind;
  std::uint64_t number;
  std::string name;
  std::string kept;  // The link to what was there before; "-": nothing was.
  std::string to;
  ino_t file = 0;  // What was made or renamed.
};
struct Overwrite {
  std::uint64_t offset;
  std::string old_bytes;
};
struct FileState {
  std::uint64_t synced = 0;
  std::vector<Overwrite> overwrites;  // Since the last sync.
};

std::uint64_t Number(const std::string& text) {
  std::uint64_t number = 0;
  ONCED_CHECK(absl::SimpleAtoi(text, &number));
  return number;
}
std::string NameOf(const std::string& path) { return fs::path(path).filename(); }

// What the journal says was at stake when the power failed.
class AtStake {
 public:
  explicit AtStake(const std::string& journal) {
    std::ifstream in(journal);
    for (std::string line; std::getline(in, line);) Read(absl::StrSplit(line, '\t'));
  }

  std::vector<Change> changes;  // In their order.
  std::map<ino_t, FileState> files;

 private:
  void Read(const std::vector<std::string>& words) {
    const std::string& what = words[0];
    const std::uint64_t number = Number(words[1]);
    if (what == "create") {
      changes.push_back({Change::Kind::kCreate, number, NameOf(words[2]), "-", ""});
    } else if (what == "delete") {
      changes.push_back({Change::Kind::kDelete, number, NameOf(words[2]), words[3], ""});
    } else if (what == "rename") {
      changes.push_back({Change::Kind::kRename, number, NameOf(words[2]), words[3],
                         NameOf(words[4]), Number(words[5])});
    } else if (what == "made") {
      changes.back().file = Number(words[2]);
      files[changes.back().file] = {};
    } else if (what == "failed") {
      changes.pop_back();
    } else if (what == "entries") {
      std::erase_if(changes, [&](const Change& change) { return change.number <= number; });
    } else if (what == "opened") {
      files.try_emplace(number, FileState{Number(words[2]), {}});
    } else if (what == "synced") {
      // Of two syncs at the same time, the later one may be told of first.
      files[number] = {std::max(files[number].synced, Number(words[2])), {}};
    } else if (what == "overwrite") {
      std::string old_bytes = absl::HexStringToBytes(words[3]);
      files[number].overwrites.push_back({Number(words[2]), std::move(old_bytes)});
    }
  }
};

// Used once.
class PowerLoss {
 public:
  PowerLoss(const std::string& directory, const std::string& folder, std::uint64_t seed)
      : directory_(directory), folder_(folder), random_(seed), stake_(folder + "/journal") {}

  std::string Happen() {
    Look();
    DropUnfinished();
    const std::map<std::string, ino_t> before = now_;
    for (auto change = stake_.changes.rbegin(); change != stake_.changes.rend(); ++change) {
      Undo(*change);
    }
    Redo();
    if (now_ != before) Relink();
    for (const auto& [name, file] : now_) Spoil(name, file);
    return report_;
  }

 private:
  std::uint64_t Below(std::uint64_t end) { return end == 0 ? 0 : random_() % end; }
  std::string In(const std::string& name) const { return directory_ + "/" + name; }
  std::string LinkOf(ino_t file) const { return absl::StrCat(folder_, "/now-", file); }

  // What there is, each by a link that stays.
  void Look() {
    for (const auto& entry : fs::directory_iterator(directory_)) {
      if (entry.is_regular_file()) now_[entry.path().filename()] = Link(entry.path());
    }
  }
  ino_t Link(const std::string& path) {
    const ino_t file = InodeOf(path);
    if (InodeOf(LinkOf(file)) == 0) fs::create_hard_link(path, LinkOf(file));
    return file;
  }

  // The last change may have been written down, and not made.
  void DropUnfinished() {
    if (stake_.changes.empty()) return;
    Change& last = stake_.changes.back();
    const bool is_there = now_.contains(last.name);
    if (last.kind == Change::Kind::kCreate) {
      if (last.file == 0 && is_there) stake_.files[last.file = now_[last.name]] = {};
      if (!is_there) stake_.changes.pop_back();
    } else if (is_there && now_[last.name] != 0) {
      const bool same = last.kind == Change::Kind::kDelete || now_[last.name] == last.file;
      if (same) stake_.changes.pop_back();
    }
  }

  void Undo(const Change& change) {
    switch (change.kind) {
      case Change::Kind::kCreate:
        now_.erase(change.name);
        return;
      case Change::Kind::kDelete:
        PutBack(change.name, change.kept);
        return;
      case Change::Kind::kRename:
        now_[change.name] = change.file;
        PutBack(change.to, change.kept);
        return;
    }
  }
  void PutBack(const std::string& name, const std::string& kept) {
    now_.erase(name);
    if (kept != "-") now_[name] = Link(folder_ + "/" + kept);
  }

  void Redo() {
    enum { kNone, kFirst, kAny, kAll, kWays };
    const std::uint64_t way = Below(kWays);
    const std::size_t first = Below(stake_.changes.size() + 1);
    std::size_t made = 0;
    for (std::size_t i = 0; i < stake_.changes.size(); ++i) {
      const bool survives =
          way == kAll || (way == kFirst && i < first) || (way == kAny && Below(2) == 0);
      if (survives) ++made;
      if (survives) Make(stake_.changes[i]);
    }
    absl::StrAppend(&report_, made, " of ", stake_.changes.size(), " changes of the directory");
  }
  void Make(const Change& change) {
    switch (change.kind) {
      case Change::Kind::kCreate:
        now_[change.name] = change.file;
        return;
      case Change::Kind::kDelete:
        now_.erase(change.name);
        return;
      case Change::Kind::kRename:
        now_.erase(change.name);
        now_[change.to] = change.file;
        return;
    }
  }

  void Relink() {
    for (const auto& entry : fs::directory_iterator(directory_)) {
      if (entry.is_regular_file()) fs::remove(entry.path());
    }
    for (const auto& [name, file] : now_) fs::create_hard_link(LinkOf(file), In(name));
  }

  void Spoil(const std::string& name, ino_t file) {
    const auto found = stake_.files.find(file);
    if (found == stake_.files.end()) return;
    const FileState& state = found->second;
    const std::uint64_t size = fs::file_size(In(name));
    if (size > state.synced) Cut(name, state.synced, size);
    for (auto at = state.overwrites.rbegin(); at != state.overwrites.rend(); ++at) {
      Restore(name, *at);
    }
  }

  void Cut(const std::string& name, std::uint64_t synced, std::uint64_t size) {
    enum { kNothing, kNothingAgain, kPart, kAll, kZeros, kPartThenZeros, kWays };
    const std::uint64_t way = Below(kWays);
    std::uint64_t kept = synced;
    if (way == kPart || way == kPartThenZeros) kept += Below(size - synced);
    if (way == kAll) kept = size;
    fs::resize_file(In(name), kept);
    const bool zeros = way == kZeros || way == kPartThenZeros;
    if (zeros) fs::resize_file(In(name), kept + Below(size - kept + 1));
    absl::StrAppend(&report_, "; ", name, ": ", kept - synced, " of ", size - synced,
                    " unsynced bytes", zeros ? ", then zeros" : "");
  }

  // The write in place was torn: its first bytes are there, the others not.
  void Restore(const std::string& name, const Overwrite& overwrite) {
    const std::uint64_t kept = Below(overwrite.old_bytes.size() + 1);
    std::fstream out(In(name), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(overwrite.offset + kept));
    out << overwrite.old_bytes.substr(kept);
    ONCED_CHECK(static_cast<bool>(out.flush()));
    absl::StrAppend(&report_, "; ", name, ": ", kept, " of ", overwrite.old_bytes.size(),
                    " bytes overwritten");
  }

  const std::string directory_;
  const std::string folder_;
  std::mt19937_64 random_;
  AtStake stake_;
  std::map<std::string, ino_t> now_;  // The directory.
  std::string report_;
};

}  // namespace

std::string LosePower(const std::string& directory, const std::string& folder, std::uint64_t seed) {
  if (!fs::exists(folder)) return "";
  std::string report = PowerLoss(directory, folder, seed).Happen();
  fs::remove_all(folder);
  return report;
}

}  // namespace onced::fault
