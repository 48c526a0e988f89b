// oncectl: the process around Run().
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/run.h"

namespace {

// A standard stream that the caller closed must not become the number of a
// socket, to which the answer would then be written. Opened for the wrong
// direction, so that using it is an error.
void HoldStandardStreams() {
  for (int stream = 0; stream <= 2; ++stream) {
    if (fcntl(stream, F_GETFD) == -1) {
      // Ignored: if there is no /dev/null, nothing better can be done.
      (void)!open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
    }
  }
}

std::map<std::string, std::string> Environment() {
  std::map<std::string, std::string> env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return env;
}

}  // namespace

int main(int argc, char** argv) {
  HoldStandardStreams();
  // What it writes to the standard error by itself isn't for users; errors come by the calls.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  std::signal(SIGPIPE, SIG_IGN);  // A closed pipe is a failed write, which is reported.
  // Streams synchronised with C's take a failed read for the end of the input.
  std::ios::sync_with_stdio(false);
  return onced::cli::Run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc),
                         {.env = Environment(),
                          .in = std::cin,
                          .out = std::cout,
                          .err = std::cerr,
                          .connect = onced::client::NewStub,
                          .connect_admin = onced::client::NewAdminStub});
}
