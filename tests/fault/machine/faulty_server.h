// Running onced_faulty, and what tests of it share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/integration/process.h"
#include "tests/integration/temp_dir.h"

namespace onced::fault {

std::string FaultyBinary();

// Of this run, and how many cycles it has: by ONCED_FAULT_SEED and
// ONCED_FAULT_CYCLES, else one drawn by the time, and `preset`.
std::uint64_t RunSeed();
int RunCycles(int preset);

// The settings of a small store, in which files come and go after little data.
std::vector<std::string> SmallStore();

// The arguments of a server on free ports, with flags beside these.
std::vector<std::string> ServerArgs(const std::string& binary, const std::string& data_dir,
                                    const std::vector<std::string>& flags);

// A started server, ready or ended.
class Started {
 public:
  explicit Started(const std::vector<std::string>& args);

  bool serving() const { return !address_.empty(); }
  const std::string& address() const { return address_; }
  const std::string& http_address() const { return http_address_; }
  const std::string& admin_address() const { return admin_address_; }
  integration::Process& process() { return process_; }
  // Once it has ended: what it said on the standard error, as lines.
  std::vector<std::string> Lines();

 private:
  integration::Process process_;
  std::string address_;
  std::string http_address_;
  std::string admin_address_;
};

// Copies a data directory whose server isn't running.
void CopyDirectory(const std::string& from, const std::string& to);

}  // namespace onced::fault
