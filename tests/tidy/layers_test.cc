// Which folder may include which. The tables are the architecture; the build can't enforce them,
// since system headers are on every target's path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/tidy/tidy.h"

namespace onced::tidy {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

using Folders = std::set<std::string>;

// A folder may include itself and these. Bottom to top.
const std::map<std::string, Folders> kMayInclude = {
    {"server/base", {}},
    {"server/ledger", {"server/base"}},
    {"server/storage", {"server/base", "server/ledger"}},
    {"server/storage/codec", {"server/base", "server/ledger", "server/storage"}},
    {"server/storage/memory",
     {"server/base", "server/ledger", "server/storage", "server/storage/codec"}},
    {"server/storage/rocksdb",
     {"server/base", "server/ledger", "server/storage", "server/storage/codec"}},
    {"server/shard", {"server/base", "server/ledger", "server/storage"}},
    {"server/config", {"server/base", "server/ledger"}},
    {"server/observe", {"server/base"}},
    {"server/identity", {"server/base"}},
    {"server/rpc",
     {"server/base", "server/ledger", "server/shard", "server/identity", "idempotency/v1",
      "idempotency/admin/v1"}},
    // serve.cc, which puts them together, and main.cc.
    {"server",
     {"server/base", "server/ledger", "server/storage", "server/storage/rocksdb", "server/shard",
      "server/config", "server/observe", "server/identity", "server/rpc"}},
    {"client/cpp", {"idempotency/v1", "idempotency/admin/v1"}},
    {"client/cli", {"client/cpp", "idempotency/v1", "idempotency/admin/v1"}},
    // The server in memory: the one part of the client that knows the server, whose own code it is.
    // See docs/decisions/0033.
    {"client/fake",
     {"server/base", "server/ledger", "server/storage/memory", "server/shard", "server/rpc",
      "client/cpp", "idempotency/v1"}},
    // Of what is installed, <onced/client/...>, and nothing in the tree.
    {"client/examples/charge", {}},
    {"client/examples/webhook", {}},
    {"client/examples/payments", {}},
    {"client/examples/queue", {}},
};

// Whose headers may be included where, by how they start.
const std::map<std::string, Folders> kLibraries = {
    {"rocksdb/", {"server/storage/rocksdb"}},
    {"yaml-cpp/", {"server/config"}},
    {"prometheus/", {"server/observe"}},
    {"civetweb", {"server/observe", "client/examples/webhook"}},
    {"curl/", {"server/observe", "client/examples/webhook"}},
    {"CivetServer", {"server/observe"}},
    {"nlohmann/", {"client/cpp"}},
    {"openssl/", {"server/base", "server/identity", "client/cpp"}},
    {"grpc/", {"server/rpc"}},
    {"grpcpp/", {"server/rpc", "client/cpp", "client/fake", "client/examples/payments"}},
    {"grpc++/", {}},
    {"google/protobuf/", {"server/rpc", "client/cpp", "client/cli"}},
    {"google/rpc/", {"server/rpc", "client/cpp", "client/cli"}},
    {"sqlite3.h", {"client/examples/payments"}},
    {"hiredis/", {"client/examples/queue"}},
    {"gtest/", {}},
    {"gmock/", {}},
};

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string Objection(const std::string& folder, const std::string& included) {
  for (const auto& [prefix, where] : kLibraries) {
    if (StartsWith(included, prefix)) {
      return where.contains(folder) ? "" : folder + " may not include " + prefix;
    }
  }
  const bool ours = StartsWith(included, "server/") || StartsWith(included, "client/") ||
                    StartsWith(included, "tests/") || StartsWith(included, "idempotency/");
  if (!ours) return "";
  const std::string layer = FolderOf(included);
  if (layer == folder || kMayInclude.at(folder).contains(layer)) return "";
  return folder + " may not include " + layer;
}

std::vector<Violation> CheckLayers(const File& file) {
  const bool layered = StartsWith(file.path, "server/") || StartsWith(file.path, "client/");
  if (!layered || !IsCpp(file)) return {};
  const std::string folder = FolderOf(file.path);
  if (!kMayInclude.contains(folder)) return {{file.path, 0, folder + " has no row in the table"}};
  static const std::regex kInclude("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
  std::vector<Violation> found;
  int number = 0;
  for (const std::string& line : Lines(Blank(file.text, /*strings=*/false))) {
    ++number;
    std::smatch match;
    if (!std::regex_search(line, match, kInclude)) continue;
    const std::string objection = Objection(folder, match[1]);
    if (!objection.empty()) found.push_back({file.path, number, objection});
  }
  return found;
}

TEST(Layers, AreAsInTheTable) { EXPECT_THAT(CheckTree(CheckLayers), IsEmpty()); }

TEST(Layers, HaveARowForFoldersThatExist) {
  for (const auto& [folder, layers] : kMayInclude) EXPECT_TRUE(Exists(folder)) << folder;
}

// A row names no row that names it, not even over others.
TEST(Layers, HaveNoCircles) {
  std::function<void(const std::string&, Folders)> walk = [&](const std::string& at,
                                                              Folders above) {
    ASSERT_TRUE(above.insert(at).second) << "a circle through " << at;
    const auto row = kMayInclude.find(at);
    if (row == kMayInclude.end()) return;
    for (const std::string& below : row->second) walk(below, above);
  };
  for (const auto& [folder, layers] : kMayInclude) walk(folder, {});
}

// ---- Planted ----

const struct {
  const char* name;
  const char* path;
  const char* line;
  bool allowed;
} kPlanted[] = {
    {"same_folder", "server/shard/a.cc", "#include \"server/shard/b.h\"", true},
    {"down", "server/shard/a.cc", "#include \"server/ledger/decide.h\"", true},
    {"up", "server/ledger/a.cc", "#include \"server/shard/shard.h\"", false},
    {"up_in_brackets", "server/ledger/a.cc", "#include <server/shard/shard.h>", false},
    {"up_with_spaces", "server/ledger/a.cc", "  #  include \"server/shard/shard.h\"", false},
    {"base_up", "server/base/a.h", "#include \"server/ledger/record.h\"", false},
    {"sideways", "server/shard/a.cc", "#include \"server/storage/rocksdb/store.h\"", false},
    {"storage_to_its_backend", "server/storage/a.cc", "#include \"server/storage/memory/m.h\"",
     false},
    {"rpc_past_shard", "server/rpc/a.cc", "#include \"server/storage/store.h\"", false},
    {"main", "server/serve.cc", "#include \"server/storage/rocksdb/store.h\"", true},
    {"cli_to_server", "client/cli/a.cc", "#include \"server/base/bytes.h\"", false},
    {"client_to_server", "client/cpp/a.cc", "#include \"server/base/bytes.h\"", false},
    {"client_to_fake", "client/cpp/a.cc", "#include \"client/fake/fake_server.h\"", false},
    {"fake_to_server", "client/fake/a.cc", "#include \"server/shard/shard_set.h\"", true},
    {"fake_to_disk", "client/fake/a.cc", "#include \"server/storage/rocksdb/rocks_store.h\"",
     false},
    {"fake_to_settings", "client/fake/a.cc", "#include \"server/config/config.h\"", false},
    {"client_to_cli", "client/cpp/a.cc", "#include \"client/cli/text.h\"", false},
    {"server_to_client", "server/rpc/a.cc", "#include \"client/cpp/client.h\"", false},
    {"server_to_tests", "server/shard/a.cc", "#include \"tests/support/fake_clock.h\"", false},
    {"proto_in_rpc", "server/rpc/a.cc", "#include \"idempotency/v1/idempotency.pb.h\"", true},
    {"proto_in_shard", "server/shard/a.cc", "#include \"idempotency/v1/idempotency.pb.h\"", false},
    {"rocksdb_in_its_place", "server/storage/rocksdb/a.cc", "#include <rocksdb/db.h>", true},
    {"rocksdb_in_main", "server/serve.cc", "#include <rocksdb/db.h>", false},
    {"tls_in_identity", "server/identity/a.cc", "#include <openssl/ssl.h>", true},
    {"tls_in_rpc", "server/rpc/a.cc", "#include <openssl/ssl.h>", false},
    {"grpc_in_shard", "server/shard/a.cc", "#include <grpcpp/grpcpp.h>", false},
    {"grpc_in_main", "server/serve.cc", "#include <grpcpp/grpcpp.h>", false},
    {"protobuf_in_codec", "server/storage/codec/a.cc", "#include <google/protobuf/message.h>",
     false},
    {"yaml_in_rpc", "server/rpc/a.cc", "#include <yaml-cpp/yaml.h>", false},
    {"prometheus_in_shard", "server/shard/a.cc", "#include <prometheus/counter.h>", false},
    {"civetweb_in_rpc", "server/rpc/a.cc", "#include \"civetweb.h\"", false},
    {"curl_in_its_place", "server/observe/a.cc", "#include <curl/curl.h>", true},
    {"curl_in_rpc", "server/rpc/a.cc", "#include <curl/curl.h>", false},
    {"json_in_its_place", "client/cpp/a.cc", "#include <nlohmann/json.hpp>", true},
    {"json_in_config", "server/config/a.cc", "#include <nlohmann/json.hpp>", false},
    {"sqlite_in_its_place", "client/examples/payments/a.cc", "#include <sqlite3.h>", true},
    {"sqlite_in_charge", "client/examples/charge/a.cc", "#include <sqlite3.h>", false},
    {"test_library", "server/base/a.h", "#include <gtest/gtest_prod.h>", false},
    {"no_row", "server/attic/a.cc", "", false},
    {"comment", "server/base/a.h", "// #include \"server/ledger/record.h\"", true},
    {"standard", "server/base/a.h", "#include <vector>", true},
    {"abseil", "server/base/a.h", "#include \"absl/time/time.h\"", true},
    {"tests_may", "tests/unit/a.cc", "#include \"server/shard/shard.h\"", true},
};

TEST(Layers, FindsWhatIsPlanted) {
  for (const auto& row : kPlanted) {
    const std::vector<Violation> found = CheckLayers({row.path, std::string("\n") + row.line});
    EXPECT_THAT(found, SizeIs(row.allowed ? 0 : 1)) << row.name;
  }
}

}  // namespace
}  // namespace onced::tidy
