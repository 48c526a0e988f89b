// oncectl as a function: everything but the process around it.
#pragma once

#include <functional>
#include <istream>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "client/cpp/admin_client.h"
#include "client/cpp/raw_client.h"

namespace onced::cli {

using StubFactory = std::function<std::unique_ptr<client::Stub>(
    const std::string& target, const client::ConnectOptions& options)>;
using AdminStubFactory = std::function<std::unique_ptr<client::AdminStub>(
    const std::string& target, const client::ConnectOptions& options)>;

// What a process has around it.
struct Surroundings {
  std::map<std::string, std::string> env;
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  StubFactory connect;
  AdminStubFactory connect_admin;  // Called by the commands for operators alone.
};

// Runs one command line, without the program's name, and returns the exit code
// (see exit_code.h). Blocks for the call and for reading `in`.
int Run(const std::vector<std::string>& args, const Surroundings& around);

}  // namespace onced::cli
