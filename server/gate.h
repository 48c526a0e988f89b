// Who comes in: what the configuration and its files say of it, kept up to date.
#pragma once

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/base/periodic_worker.h"
#include "server/config/config.h"
#include "server/identity/certificate.h"
#include "server/identity/reloaded.h"
#include "server/identity/token_table.h"
#include "server/ledger/access.h"
#include "server/observe/log.h"
#include "server/observe/prometheus_telemetry.h"
#include "server/rpc/authenticator.h"
#include "server/rpc/tls_credentials.h"

namespace onced {

// Threads:  one of its own looks at the files; the functions from any.
// Lifetime: what Open() takes outlives it; it outlives all servers.
// Promise:  what is wrong with a file at the start stops that; later, what the files said
//           before holds, and the log and a metric say so.
class Gate {
 public:
  static absl::StatusOr<std::unique_ptr<Gate>> Open(const Config& config, const Clock& wall,
                                                    Log& log);

  const Authenticator& authenticator() const { return *authenticator_; }
  // For one server; nullptr: no TLS.
  std::shared_ptr<grpc::ServerCredentials> NewCredentials() const;
  void AddMetrics(PrometheusTelemetry& telemetry) const;
  // Says so if nobody is asked who they are.
  void Warn() const;

 private:
  Gate(const Config& config, const Clock& wall, Log& log);
  absl::Status OpenCertificate();
  absl::Status OpenTokens();
  void Start();

  // Constant after Open().
  const Config& config_;
  const Clock& wall_;
  Log& log_;
  const AccessList access_;
  std::unique_ptr<Reloaded<Certificate>> certificate_;  // nullptr: no TLS.
  std::unique_ptr<Reloaded<TokenTable>> tokens_;        // nullptr: no tokens.
  std::optional<Authenticator> authenticator_;

  std::optional<PeriodicWorker> worker_;  // Last: uses what is above.
};

// Unless `config` has it otherwise, no crash leaves a file with what was in memory.
absl::Status LimitCoreDumps(const Config& config);

}  // namespace onced
