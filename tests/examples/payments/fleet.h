// The payment example at work: onced, some payment servers, and the networks between.
#pragma once

#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "client/examples/payments/payer.h"
#include "tests/integration/flaky_proxy.h"
#include "tests/integration/process.h"
#include "tests/integration/server_process.h"
#include "tests/integration/temp_dir.h"

namespace onced::examples {

// A payment server, on a port of its own.
// Threads: one, as Process.
class PaymentServer {
 public:
  struct Options {
    std::string lease = "1s";
    // How long it rests at most before a charge, and after it.
    std::string delay = "0s";
    // Of so many charges it doesn't hear that they were made.
    std::string lose_answers = "0";

    // ---- The fleet's business. ----
    std::string onced = {};
    std::string books = {};
    std::string hold_before = {};
    std::string hold_after = {};
  };
  explicit PaymentServer(Options options);

  void Kill();
  void Start();
  // Nothing of it runs from then on, and it knows of nothing.
  void Freeze() { process_->Signal(SIGSTOP); }
  void Thaw() { process_->Signal(SIGCONT); }
  // Waits until it holds because of that file; for the first time since it was started.
  void AwaitHold(const std::string& file);

  const std::string& address() const { return address_; }

 private:
  const Options options_;
  std::unique_ptr<integration::Process> process_;
  std::string address_;
};

// A payer -> to_servers() -> any of the servers -> to_onced() -> onced. All servers have the same
// books. Neither network is bad at first.
// Threads: one, as Process; but the functions that are const, on any.
class Fleet {
 public:
  Fleet(std::uint64_t seed, std::size_t servers, const PaymentServer::Options& options = {});

  integration::FlakyProxy& to_servers() { return *to_servers_; }
  integration::FlakyProxy& to_onced() { return *to_onced_; }
  integration::ServerProcess& onced() { return onced_; }
  PaymentServer& server(std::size_t index) { return *servers_.at(index); }
  std::size_t size() const { return servers_.size(); }

  void RestartOnced();
  void RestartServer(std::size_t index);

  std::string books() const { return dir_.Path("books.db"); }
  // While these files are there, the server charges nothing; or commits nothing to onced.
  std::string HoldBefore(std::size_t index) const;
  std::string HoldAfter(std::size_t index) const;
  // What onced knows of the payment.
  std::string RecordOf(const std::string& payment_id) const;
  // Waits until onced says that the payment's run has lost its lease.
  void AwaitLapse(const std::string& payment_id) const;

 private:
  const integration::TempDir dir_;
  integration::ServerProcess onced_;
  std::unique_ptr<integration::FlakyProxy> to_onced_;
  std::vector<std::unique_ptr<PaymentServer>> servers_;
  std::unique_ptr<integration::FlakyProxy> to_servers_;
};

}  // namespace onced::examples
