#include "tests/examples/payments/fleet.h"

#include <stdexcept>
#include <utility>

#include "tests/integration/api.h"

namespace onced::examples {

using integration::FlakyProxy;
using integration::Process;

namespace v1 = idempotency::v1;

PaymentServer::PaymentServer(Options options) : options_(std::move(options)) { Start(); }

void PaymentServer::Start() {
  process_ = std::make_unique<Process>(Process::Command{
      .argv = {ONCED_BIN_DIR "/example_payments", "--listen=127.0.0.1:0",
               "--onced=" + options_.onced, "--books=" + options_.books,
               "--lease=" + options_.lease, "--delay=" + options_.delay,
               "--lose_answers=" + options_.lose_answers, "--hold_before=" + options_.hold_before,
               "--hold_after=" + options_.hold_after}});
  const auto serving = process_->out().AwaitLine("payments on port ");
  if (!serving.has_value()) {
    throw std::runtime_error("the payment server did not start: " + process_->err().Text());
  }
  address_ = "127.0.0.1:" + serving->substr(serving->rfind(' ') + 1);
}

void PaymentServer::Kill() {
  process_->Signal(SIGKILL);
  process_->Wait();
}

void PaymentServer::AwaitHold(const std::string& file) {
  if (!process_->out().AwaitLine("holding while there is " + file).has_value()) {
    throw std::runtime_error("the payment server holds nothing: " + process_->err().Text());
  }
}

Fleet::Fleet(std::uint64_t seed, std::size_t servers, const PaymentServer::Options& options)
    // Leases that ran out while it was down may lapse that soon after it is up again.
    : onced_({.flags = {"--restart-grace", "1s"}}),
      to_onced_(std::make_unique<FlakyProxy>(seed, std::vector{onced_.address()})) {
  std::vector<std::string> addresses;
  for (std::size_t i = 0; i < servers; ++i) {
    PaymentServer::Options own = options;
    own.onced = to_onced_->address();
    own.books = books();
    own.hold_before = HoldBefore(i);
    own.hold_after = HoldAfter(i);
    servers_.push_back(std::make_unique<PaymentServer>(std::move(own)));
    addresses.push_back(servers_.back()->address());
  }
  to_servers_ = std::make_unique<FlakyProxy>(seed + 1, addresses);
}

void Fleet::RestartOnced() {
  onced_.Kill9();
  onced_.Start();
  to_onced_->SetServer(0, onced_.address());
}

void Fleet::RestartServer(std::size_t index) {
  server(index).Kill();
  server(index).Start();
  to_servers_->SetServer(index, server(index).address());
}

std::string Fleet::HoldBefore(std::size_t index) const {
  return dir_.Path("hold-before-" + std::to_string(index));
}
std::string Fleet::HoldAfter(std::size_t index) const {
  return dir_.Path("hold-after-" + std::to_string(index));
}

namespace {

v1::Record Inspect(const integration::ServerProcess& onced, const std::string& payment_id) {
  v1::InspectRequest request;
  request.set_namespace_("payments");
  request.set_key("shop/" + payment_id);
  return integration::Api(onced.Connect()).Inspect(request).value().record();
}

}  // namespace

std::string Fleet::RecordOf(const std::string& payment_id) const {
  return Inspect(onced_, payment_id).ShortDebugString();
}

void Fleet::AwaitLapse(const std::string& payment_id) const {
  integration::Await("the lapse of " + payment_id,
                     [&] { return Inspect(onced_, payment_id).state() == v1::STATE_LAPSED; });
}

}  // namespace onced::examples
