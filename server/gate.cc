#include "server/gate.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onced {
namespace {

double SecondsOf(absl::Time time) { return absl::ToDoubleSeconds(time - absl::UnixEpoch()); }

ClientCertificates ClientsOf(const Config& config) {
  if (config.tls_client_ca.empty()) return ClientCertificates::kNotAsked;
  return config.tls_client_auth == Config::TlsClientAuth::kRequest ? ClientCertificates::kRequested
                                                                   : ClientCertificates::kRequired;
}

template <typename Value>
void AddReloads(PrometheusTelemetry& telemetry, const char* file, const Reloaded<Value>* reloaded) {
  telemetry.AddCounter(kReloadsCounter, {{"file", file}, {"result", "success"}}, [reloaded] {
    return reloaded == nullptr ? 0.0 : static_cast<double>(reloaded->successes());
  });
  telemetry.AddCounter(kReloadsCounter, {{"file", file}, {"result", "failure"}}, [reloaded] {
    return reloaded == nullptr ? 0.0 : static_cast<double>(reloaded->failures());
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Gate>> Gate::Open(const Config& config, const Clock& wall,
                                                 Log& log) {
  std::unique_ptr<Gate> gate(new Gate(config, wall, log));
  if (auto status = gate->OpenCertificate(); !status.ok()) return status;
  if (auto status = gate->OpenTokens(); !status.ok()) return status;
  gate->Start();
  return gate;
}

Gate::Gate(const Config& config, const Clock& wall, Log& log)
    : config_(config), wall_(wall), log_(log), access_(config.access) {}

absl::Status Gate::OpenCertificate() {
  if (config_.tls_cert.empty()) return absl::OkStatus();
  CertificatePaths paths{config_.tls_cert, config_.tls_key, config_.tls_client_ca};
  std::vector<std::string> files = paths.files();
  auto opened = Reloaded<Certificate>::Open(
      {.files = std::move(files),
       .parse =
           [this, paths = std::move(paths)](const std::vector<std::string>& texts) {
             return CheckCertificate(paths, texts, wall_.Now());
           },
       .told =
           [this](const absl::Status& result) {
             if (result.ok()) return log_.Info("certificate_reloaded");
             log_.Error("certificate_not_reloaded", {{"error", result.message()}});
           }});
  if (!opened.ok()) return opened.status();
  certificate_ = *std::move(opened);
  return absl::OkStatus();
}

absl::Status Gate::OpenTokens() {
  if (config_.token_file.empty()) return absl::OkStatus();
  auto opened = Reloaded<TokenTable>::Open(
      {.files = {config_.token_file},
       .parse =
           [file = config_.token_file](const std::vector<std::string>& texts) {
             return TokenTable::Parse(texts[0], file);
           },
       .told =
           [this](const absl::Status& result) {
             if (result.ok())
               return log_.Info("tokens_reloaded", {{"tokens", tokens_->Get()->size()}});
             log_.Error("tokens_not_reloaded", {{"error", result.message()}});
           }});
  if (!opened.ok()) return opened.status();
  tokens_ = *std::move(opened);
  return absl::OkStatus();
}

void Gate::Start() {
  if (access_.empty()) {
    authenticator_.emplace();
  } else {
    authenticator_.emplace(
        Authenticator::Options{.access = &access_,
                               .tokens = tokens_.get(),
                               .clock = &wall_,
                               .told = [this](AuthFailure failure, const std::string& peer) {
                                 log_.WriteLimited(LogLevel::kWarn, "auth_failed",
                                                   {{"cause", NameOf(failure)}, {"peer", peer}});
                               }});
  }
  if (certificate_ == nullptr && tokens_ == nullptr) return;
  worker_.emplace(config_.reload_interval, [this] {
    if (certificate_ != nullptr) certificate_->Look();
    if (tokens_ != nullptr) tokens_->Look();
  });
}

std::shared_ptr<grpc::ServerCredentials> Gate::NewCredentials() const {
  if (certificate_ == nullptr) return nullptr;
  return TlsCredentials(*certificate_, ClientsOf(config_));
}

void Gate::Warn() const {
  if (!access_.empty()) return;
  log_.Warn("anybody_may_call",
            {{"reason", config_.insecure ? "insecure is set" : "only this machine can reach it"},
             {"encrypted", certificate_ != nullptr}});
}

void Gate::AddMetrics(PrometheusTelemetry& telemetry) const {
  telemetry.AddGauge(kCertificateExpiryGauge, {}, [this] {
    return certificate_ == nullptr ? 0.0 : SecondsOf(certificate_->Get()->not_after);
  });
  telemetry.AddGauge(kClientCaExpiryGauge, {}, [this] {
    const auto newest = certificate_ == nullptr ? nullptr : certificate_->Get();
    return newest == nullptr || newest->client_ca.empty() ? 0.0
                                                          : SecondsOf(newest->client_ca_not_after);
  });
  AddReloads(telemetry, "certificate", certificate_.get());
  AddReloads(telemetry, "tokens", tokens_.get());
  for (const AuthFailure failure : kAuthFailures) {
    telemetry.AddCounter(kAuthFailuresCounter, {{"cause", NameOf(failure)}}, [this, failure] {
      return static_cast<double>(authenticator_->failures(failure));
    });
  }
}

absl::Status LimitCoreDumps(const Config& config) {
  if (config.core_dumps) return absl::OkStatus();
  // Not 0: the kernel hands a dump to a program, if it is set up so, whatever the limit is,
  // but for 1, which is too little for a file as well.
  const rlimit one{.rlim_cur = 1, .rlim_max = 1};
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  // Where the limit may not be raised to 1, being undumpable is what keeps a program off.
  const bool limited = setrlimit(RLIMIT_CORE, &one) == 0 ||
                       (setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0);
  if (limited) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("core_dumps: can't be turned off: ", std::strerror(errno)));
}

}  // namespace onced
