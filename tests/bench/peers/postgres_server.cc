// A PostgreSQL of our own.
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/bench/peers/packaged.h"
#include "tests/bench/peers/program.h"
#ifdef ONCED_BENCH_LIBPQ
#include "tests/bench/peers/postgres_driver.h"
#endif

namespace onced::bench {

#ifdef ONCED_BENCH_LIBPQ
namespace {

constexpr char kRole[] = "onced";
constexpr int kConnectionsMax = 300;

class PostgresPeer final : public Peer {
 public:
  PostgresPeer(std::unique_ptr<ServerUnderTest> server, std::string version, int port,
               const Terms& terms)
      : server_(std::move(server)),
        version_(std::move(version)),
        port_(port),
        sql_(MakePostgresSql(terms)) {}
  // At once, but with its shared memory given back.
  ~PostgresPeer() override { server_->Stop(SIGQUIT); }

  absl::Status MakeTable() const {
    const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(ConnInfo().c_str()),
                                                                PQfinish);
    PGresult* made = PQexec(connection.get(), sql_.table.c_str());
    const bool ok = PQresultStatus(made) == PGRES_COMMAND_OK;
    PQclear(made);
    return ok ? absl::OkStatus() : absl::InternalError(PQerrorMessage(connection.get()));
  }

  std::string Version() const override { return version_; }
  std::string address() const override { return absl::StrCat("127.0.0.1:", port_); }
  int pid() const override { return server_->pid(); }
  absl::StatusOr<std::unique_ptr<Driver>> MakeDriver(DriverOptions options) override {
    options.address = address();
    return PostgresDriver::Connect(options, ConnInfo(), sql_);
  }

 private:
  std::string ConnInfo() const {
    return absl::StrCat("host=127.0.0.1 port=", port_, " user=", kRole,
                        " dbname=postgres sslmode=disable gssencmode=disable options='",
                        kPostgresSettings, "'");
  }

  const std::unique_ptr<ServerUnderTest> server_;
  const std::string version_;
  const int port_;
  const PostgresSql sql_;
};

// Debian's, of which only the clients are in the PATH. The newest first.
std::vector<std::string> Folders() {
  constexpr char kRoot[] = "/usr/lib/postgresql";
  std::vector<std::string> folders;
  DIR* root = opendir(kRoot);
  while (root != nullptr) {
    const dirent* entry = readdir(root);
    if (entry == nullptr) break;
    folders.push_back(absl::StrCat(kRoot, "/", entry->d_name, "/bin"));
  }
  if (root != nullptr) closedir(root);
  std::sort(folders.rbegin(), folders.rend());
  return folders;
}

absl::Status MakeCluster(const std::string& initdb, const std::string& data,
                         std::optional<User> user) {
  const integration::Finished made =
      integration::Run({.argv = CommandOf({initdb, "--pgdata", data, "--username", kRole, "--auth",
                                           "trust", "--encoding", "UTF8", "--locale", "C"},
                                          user, std::nullopt)});
  if (made.exit_code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("initdb failed:\n", made.out, made.err));
}

// All else as initdb leaves it: fsync and synchronous_commit are on.
std::vector<std::string> Arguments(const std::string& program, const std::string& data, int port) {
  return {program,
          "-D",
          data,
          "-c",
          "listen_addresses=127.0.0.1",
          "-c",
          absl::StrCat("port=", port),
          "-c",
          "unix_socket_directories=",
          "-c",
          absl::StrCat("max_connections=", kConnectionsMax),
          "-c",
          "fsync=on",
          "-c",
          "synchronous_commit=on",
          "-c",
          "logging_collector=off"};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Peer>> StartPostgres(const PeerOptions& options,
                                                    const Terms& terms) {
  const absl::StatusOr<std::string> initdb = FindProgram("initdb", Folders());
  if (!initdb.ok()) return initdb.status();
  const absl::StatusOr<std::string> postgres = FindProgram("postgres", Folders());
  if (!postgres.ok()) return postgres.status();
  const std::optional<User> user = UnprivilegedUser();
  if (user.has_value() && chown(options.folder.c_str(), user->uid, user->gid) != 0) {
    return absl::InternalError("can't give " + options.folder + " to PostgreSQL's user");
  }
  const std::string data = options.folder + "/data";
  const absl::Status made = MakeCluster(*initdb, data, user);
  if (!made.ok()) return made;
  const int port = FreePort();
  absl::StatusOr<std::unique_ptr<ServerUnderTest>> server = ServerUnderTest::Start(
      CommandOf(Arguments(*postgres, data, port), user, options.core),
      "database system is ready to accept connections", ServerUnderTest::SaysItOn::kErrors);
  if (!server.ok()) return server.status();
  auto peer = std::make_unique<PostgresPeer>(*std::move(server), VersionOf("postgresql", *postgres),
                                             port, terms);
  const absl::Status table = peer->MakeTable();
  if (!table.ok()) return table;
  return peer;
}

#else

absl::StatusOr<std::unique_ptr<Peer>> StartPostgres(const PeerOptions& /*options*/,
                                                    const Terms& /*terms*/) {
  return absl::FailedPreconditionError("built without libpq-dev");
}

#endif

}  // namespace onced::bench
