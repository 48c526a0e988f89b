// A server that asks who calls, and callers of all kinds.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "idempotency/admin/v1/admin.grpc.pb.h"
#include "idempotency/v1/idempotency.grpc.pb.h"
#include "tests/integration/certificates.h"
#include "tests/integration/server_process.h"
#include "tests/integration/temp_dir.h"

namespace onced::integration {

// A folder whose files are replaced all at once, as Kubernetes does it: by turning one
// link, "..data".
class SwappedFolder {
 public:
  SwappedFolder() = default;
  // The path of one of them, which is a link through "..data".
  std::string Path(const std::string& name) const { return dir_.Path(name); }
  // All of them, by name.
  void Swap(const std::map<std::string, std::string>& files);

 private:
  const TempDir dir_;
  int version_ = 0;
};

// How somebody calls.
struct Credentials {
  std::string authorization;  // The header's value; empty: none.
  KeyPair certificate;        // Empty: none.
};

// "NAME sha256:HEX" and what `rest` says.
std::string TokenLine(const std::string& name, const std::string& token,
                      const std::string& rest = "");

// A connection of its own, that believes `ca`.
std::shared_ptr<grpc::Channel> ConnectSecurely(const std::string& address, const std::string& ca,
                                               const KeyPair& certificate = {});

namespace admin_v1 = ::idempotency::admin::v1;

// One caller of a server, with everything that can be called.
class SecureCaller {
 public:
  SecureCaller(const ServerProcess& server, const std::string& ca, const Credentials& credentials)
      : authorization_(credentials.authorization),
        api_(idempotency::v1::IdempotencyService::NewStub(
            ConnectSecurely(server.address(), ca, credentials.certificate))),
        admin_(admin_v1::AdminService::NewStub(
            ConnectSecurely(server.admin_address(), ca, credentials.certificate))) {}

  // With the header, and a deadline.
  void Prepare(grpc::ClientContext& context) const;
  // One operation by a call of its own, in a batch, or in a session: its error; OK if it was
  // judged, whatever came of that. `response` is what came, as text.
  enum class Way { kAlone, kBatch, kSession };
  grpc::Status Call(const idempotency::v1::Operation& operation, Way way,
                    std::string* response = nullptr) const;
  grpc::Status AcceptClock() const;
  idempotency::v1::IdempotencyService::Stub& api() const { return *api_; }
  admin_v1::AdminService::Stub& admin() const { return *admin_; }

 private:
  grpc::Status CallAlone(const idempotency::v1::Operation& operation, std::string* response) const;
  grpc::Status CallInBatch(const idempotency::v1::Operation& operation,
                           std::string* response) const;
  grpc::Status CallInSession(const idempotency::v1::Operation& operation,
                             std::string* response) const;

  std::string authorization_;
  std::unique_ptr<idempotency::v1::IdempotencyService::Stub> api_;
  std::unique_ptr<admin_v1::AdminService::Stub> admin_;
};

}  // namespace onced::integration
