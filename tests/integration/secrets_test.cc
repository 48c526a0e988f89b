// Nothing that the server writes has a secret of its clients in it.
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/secured.h"

namespace onced::integration {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kBearer = "bearer-secret-0123456789abcdef012";
const std::string kWrongBearer = "bearer-mistaken-0123456789abcdef0";
const std::string kKey = "key-secret-0815";
const std::string kRequestId = "request-id-secret-4711";
const std::string kBody = "body-secret-42";
const std::string kCheckpoint = "checkpoint-secret-43";

TEST(Secrets, StandInNothingThatTheServerWrites) {
  const Authority authority("ca");
  const KeyPair pair = authority.Issue({});
  SwappedFolder folder;
  std::map<std::string, std::string> files = {
      {"tls.crt", pair.certificate}, {"tls.key", pair.key}, {"tokens", TokenLine("team", kBearer)}};
  folder.Swap(files);
  ServerProcess server(
      {.flags = {"--tls-cert", folder.Path("tls.crt"), "--tls-key", folder.Path("tls.key"),
                 "--token-file", folder.Path("tokens"), "--reload-interval", "100ms", "--log-level",
                 "debug"},
       .config = "namespaces: {tests: {}}\nunlisted_namespaces: deny\naccess:\n"
                 "- {identity: 'token:team', namespaces: ['*'], rights: [use, inspect, admin]}\n"});
  const SecureCaller good(server, authority.certificate(), {.authorization = "Bearer " + kBearer});
  const SecureCaller wrong(server, authority.certificate(),
                           {.authorization = "Bearer " + kWrongBearer});
  const SecureCaller malformed(server, authority.certificate(), {.authorization = kWrongBearer});

  std::string written;  // Errors that went out, beside the logs and metrics.
  v1::ReserveRequest reserve = ReserveOf(kKey);
  reserve.set_request_id(kRequestId);
  v1::ReserveResponse reserved;
  {
    grpc::ClientContext context;
    good.Prepare(context);
    ASSERT_TRUE(good.api().Reserve(&context, reserve, &reserved).ok());
  }
  const std::string token = reserved.reservation().token();
  std::vector<v1::Operation> operations(8);
  *operations[0].mutable_extend() = ExtendOf(kKey, token);
  operations[0].mutable_extend()->set_checkpoint(kCheckpoint);
  *operations[1].mutable_commit() = CommitOf(kKey, "another-" + token, ResultOf(200, kBody));
  *operations[2].mutable_commit() = CommitOf(kKey, token, ResultOf(200, kBody));
  *operations[3].mutable_commit() = CommitOf(kKey, token, ResultOf(201, kBody + "2"));
  *operations[4].mutable_release() = ReleaseOf(kKey, token);
  *operations[5].mutable_reserve() = reserve;
  operations[5].mutable_reserve()->set_namespace_("foreign");
  *operations[6].mutable_reserve() = reserve;
  operations[6].mutable_reserve()->set_owner(std::string(200, 'o'));
  *operations[7].mutable_inspect() = InspectOf(kKey + "\n");
  for (const v1::Operation& operation : operations) {
    for (const SecureCaller* caller : {&good, &wrong, &malformed}) {
      for (const auto way :
           {SecureCaller::Way::kAlone, SecureCaller::Way::kBatch, SecureCaller::Way::kSession}) {
        const grpc::Status status = caller->Call(operation, way);
        absl::StrAppend(&written, status.error_message(), status.error_details());
      }
    }
  }
  // A token where its digest should be, and a key that is none.
  files["tokens"] = "team " + kBearer + "\n";
  files["tls.key"] = kBearer;
  folder.Swap(files);
  Await("the failures", [&] {
    const Metrics metrics = server.GetMetrics();
    return metrics.at("idempotency_reloads_total{file=\"tokens\",result=\"failure\"}") == 1 &&
           metrics.at("idempotency_reloads_total{file=\"certificate\",result=\"failure\"}") == 1;
  });
  absl::StrAppend(&written, server.Get("/metrics").body, server.Get("/livez").body,
                  server.Get("/readyz").body);
  EXPECT_EQ(server.Stop(), 0);
  absl::StrAppend(&written, server.Log());
  EXPECT_THAT(written, HasSubstr("\"event\":\"auth_failed\""));
  EXPECT_THAT(written, HasSubstr("NAMESPACE_NOT_ALLOWED"));
  for (const std::string& secret : {kBearer, kWrongBearer, kKey, kRequestId, kBody, kCheckpoint,
                                    token, pair.key.substr(40, 40)}) {
    EXPECT_THAT(written, Not(HasSubstr(secret)));
  }
}

}  // namespace
}  // namespace onced::integration
