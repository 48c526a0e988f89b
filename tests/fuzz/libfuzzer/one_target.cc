// A program of libFuzzer's for one target, which the build names.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

// As the server does: a line for each string that isn't UTF-8 helps nobody.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  onced::fuzz::ONCED_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
