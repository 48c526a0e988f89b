// Plays every scenario file against the real server, and against the fake that users have.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "idempotency/admin/v1/admin.pb.h"
#include "idempotency/v1/idempotency.pb.h"
#include "tests/integration/error.h"
#include "tests/integration/process.h"
#include "tests/integration/raw_call.h"
#include "tests/integration/temp_dir.h"
#include "tests/scenarios/scenario.h"
#include "tests/scenarios/session_caller.h"
#include "tests/scenarios/subject.h"

namespace onced::scenarios {
namespace {

using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using integration::Error;

// The file can't be played, or the server didn't answer as it should.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename T>
T OrFail(absl::StatusOr<T> result) {
  if (!result.ok()) throw Failure(std::string(result.status().message()));
  return *std::move(result);
}

bool IsAdmin(const MethodDescriptor& method) { return method.service()->name() == "AdminService"; }

// Of the API, else of the admin service.
const MethodDescriptor* FindMethod(const std::string& name) {
  const auto in = [&name](const google::protobuf::Descriptor* any_message, const char* service) {
    return any_message->file()->FindServiceByName(service)->FindMethodByName(name);
  };
  const MethodDescriptor* of_api =
      in(idempotency::v1::ReserveRequest::descriptor(), "IdempotencyService");
  if (of_api != nullptr) return of_api;
  return in(idempotency::admin::v1::ListRequest::descriptor(), "AdminService");
}

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor* type) {
  auto* factory = google::protobuf::MessageFactory::generated_factory();
  return std::unique_ptr<Message>(factory->GetPrototype(type)->New());
}

void ParseInto(const std::string& text, Message& message) {
  if (!google::protobuf::TextFormat::ParseFromString(text, &message)) {
    throw Failure(absl::StrCat("is no ", message.GetTypeName(), ": ", text));
  }
}

// Codes by their names in gRPC's documents.
int CodeOf(const std::string& name) {
  constexpr const char* kNames[] = {"OK",
                                    "CANCELLED",
                                    "UNKNOWN",
                                    "INVALID_ARGUMENT",
                                    "DEADLINE_EXCEEDED",
                                    "NOT_FOUND",
                                    "ALREADY_EXISTS",
                                    "PERMISSION_DENIED",
                                    "RESOURCE_EXHAUSTED",
                                    "FAILED_PRECONDITION",
                                    "ABORTED",
                                    "OUT_OF_RANGE",
                                    "UNIMPLEMENTED",
                                    "INTERNAL",
                                    "UNAVAILABLE",
                                    "DATA_LOSS",
                                    "UNAUTHENTICATED"};
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) throw Failure("there is no code " + name);
  return static_cast<int>(found - std::begin(kNames));
}

// `expected` is what stands behind "=> CODE".
void CheckError(const std::string& code, const std::string& expected, const Error& error) {
  const std::vector<std::string> words =
      absl::StrSplit(expected, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  const std::string got = testing::PrintToString(error);
  if (error.code != CodeOf(code)) throw Failure("should be " + code + ", is " + got);
  if (words.empty() || error.reason != words[0]) throw Failure("has another reason: " + got);
  std::set<std::string> fields;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(words[i], absl::MaxSplits('=', 1));
    if (pair.first == "field") {
      fields.insert(pair.second);
      continue;
    }
    const auto found = error.metadata.find(pair.first);
    if (found == error.metadata.end() || found->second != pair.second) {
      throw Failure(absl::StrCat("has no ", words[i], ": ", got));
    }
  }
  std::set<std::string> violated;
  for (const auto& [field, text] : error.violations) violated.insert(field);
  if (!fields.empty() && fields != violated) throw Failure("names other fields: " + got);
}

Error WithoutPath(Error error, const std::string& path) {
  std::map<std::string, std::string> violations;
  for (const auto& [field, text] : error.violations) {
    violations.emplace(absl::StripPrefix(field, path), text);
  }
  error.violations = std::move(violations);
  return error;
}

// How the calls that are operations too are made; the others are calls in any case.
enum class Transport { kCalls, kSession };
enum class Against { kProcess, kFake };

// Threads: one.
class Player {
 public:
  Player(Against against, Transport transport) : against_(against), transport_(transport) {}

  void Play(const std::vector<Directive>& directives) {
    for (std::size_t i = 0; i < directives.size(); ++i) {
      try {
        Do(directives, i);
      } catch (const std::exception& failure) {
        throw Failure(absl::StrCat("line ", directives[i].line, ": ", failure.what()));
      }
    }
  }

 private:
  // May take the directive after `i`, too.
  void Do(const std::vector<Directive>& directives, std::size_t& i) {
    const Directive& directive = directives[i];
    if (directive.word == "config") return Configure(directive.rest);
    if (directive.word == "flags") return AddFlags(directive.rest);
    if (directive.word == "restart") return Again(&Subject::Restart);
    if (directive.word == "kill") return Again(&Subject::Kill);
    if (directive.word == "save") return Save(directive.rest);
    if (directive.word == "absent") return CheckAbsent(directive.rest);
    if (directive.word == "greater") return CheckGreater(directive.rest);
    if (i + 1 == directives.size() || directives[i + 1].word != "=>") {
      throw Failure("a call is followed by => and what is expected");
    }
    Call(directive, directives[i + 1].rest);
    ++i;
  }

  void Configure(const std::string& yaml) { options_.config = yaml; }
  void AddFlags(const std::string& flags) { options_.flags = absl::StrSplit(flags, ' '); }

  Subject& Server() {
    if (server_ == nullptr) {
      server_ = against_ == Against::kFake ? NewFake(options_) : NewProcess(options_);
    }
    return *server_;
  }
  void Again(void (Subject::*restart)()) {
    (Server().*restart)();
    session_ = nullptr;
    channel_ = nullptr;
    admin_channel_ = nullptr;
  }

  void Call(const Directive& directive, const std::string& expected) {
    std::string method = directive.word;
    std::string request = directive.rest;
    const bool is_awaited = method == "await";
    if (is_awaited) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(directive.rest, absl::MaxSplits(' ', 1));
      method = parts.first;
      request = parts.second;
    }
    if (!is_awaited) return CallOnce(method, request, expected);
    integration::Await("what is awaited", [&] {
      try {
        CallOnce(method, request, expected);
        return true;
      } catch (const Failure&) {
        return false;  // Ignored: not yet.
      }
    });
  }

  void CallOnce(const std::string& name, const std::string& request_text,
                const std::string& expected) {
    const MethodDescriptor* method = FindMethod(name);
    if (method == nullptr) throw Failure("there is no directive or method " + name);
    const auto request = NewMessage(method->input_type());
    ParseInto(OrFail(Substitute(request_text, saved_)), *request);
    if (channel_ == nullptr) channel_ = Server().Connect();
    if (admin_channel_ == nullptr) admin_channel_ = Server().ConnectToAdmin();
    answer_ = NewMessage(method->output_type());
    const bool in_session = transport_ == Transport::kSession && SessionCaller::Has(name);
    const grpc::Status status = in_session ? Session().Call(name, *request, *answer_)
                                           : CallByItself(*method, *request, *answer_);
    Check(status, in_session ? SessionCaller::PathOf(name) : "",
          OrFail(Substitute(expected, saved_)));
  }

  SessionCaller& Session() {
    if (session_ == nullptr) session_ = std::make_unique<SessionCaller>(channel_);
    return *session_;
  }
  grpc::Status CallByItself(const MethodDescriptor& method, const Message& request,
                            Message& answer) {
    const integration::RawReply reply =
        integration::RawCall(IsAdmin(method) ? admin_channel_ : channel_,
                             absl::StrCat("/", method.service()->full_name(), "/", method.name()),
                             request.SerializeAsString());
    if (!answer.ParseFromString(reply.bytes)) throw Failure("the answer can't be parsed");
    return reply.status;
  }

  // Errors name their fields with `path` before them.
  void Check(const grpc::Status& status, const std::string& path,
             const std::string& expected) const {
    const std::size_t end = expected.find_first_of(" \n");
    const std::string code = expected.substr(0, end);
    const std::string rest = end == std::string::npos ? "" : expected.substr(end + 1);
    if (code != "OK")
      return CheckError(code, rest, WithoutPath(integration::ErrorOf(status), path));
    if (!status.ok()) {
      throw Failure("failed: " + testing::PrintToString(integration::ErrorOf(status)));
    }
    const std::unique_ptr<Message> want(answer_->New());
    ParseInto(rest, *want);
    if (const absl::Status same = Matches(*want, *answer_); !same.ok()) {
      throw Failure(absl::StrCat(std::string(same.message()), " in ", answer_->ShortDebugString()));
    }
  }

  std::string At(const std::string& path) const {
    if (answer_ == nullptr) throw Failure("nothing was answered yet");
    return OrFail(TextAt(*answer_, path));
  }

  void Save(const std::string& rest) {
    const std::vector<std::string> parts = absl::StrSplit(rest, " = ");
    if (parts.size() != 2) throw Failure("is not NAME = PATH: " + rest);
    saved_[parts[0]] = At(parts[1]);
    if (saved_[parts[0]].empty()) throw Failure("nothing to save at " + parts[1]);
  }
  void CheckAbsent(const std::string& path) const {
    const std::string text = At(path);
    const bool is_zero = text == "0" || text == "false" || absl::EndsWith(text, "_UNSPECIFIED");
    if (!text.empty() && !is_zero) throw Failure(path + " is there: " + text);
  }
  void CheckGreater(const std::string& rest) const {
    const std::pair<std::string, std::string> parts = absl::StrSplit(rest, absl::MaxSplits(' ', 1));
    std::int64_t is = 0;
    std::int64_t bound = 0;
    if (!absl::SimpleAtoi(At(parts.first), &is) ||
        !absl::SimpleAtoi(OrFail(Substitute(parts.second, saved_)), &bound)) {
      throw Failure("is not PATH $NAME of numbers: " + rest);
    }
    if (is <= bound) throw Failure(absl::StrCat(parts.first, " is ", is, ", not above ", bound));
  }

  const Against against_;
  const Transport transport_;
  SubjectOptions options_;
  std::unique_ptr<Subject> server_;  // Started by the first call.
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<SessionCaller> session_;  // Over that channel.
  std::shared_ptr<grpc::Channel> admin_channel_;
  std::unique_ptr<Message> answer_;  // To the last call.
  Saved saved_;
};

std::string Folder() { return ONCED_SOURCE_DIR "/tests/scenarios"; }

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Folder())) {
    if (entry.path().extension() == ".scenario") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "" if it goes as the text says, else where it doesn't.
std::string PlayText(const std::string& text, Against against, Transport transport) {
  try {
    Player(against, transport).Play(OrFail(ParseScenario(text)));
    return "";
  } catch (const std::exception& failure) {
    return failure.what();
  }
}

using Play = std::tuple<std::string, Against, Transport>;

std::string NameOf(const testing::TestParamInfo<Play>& play) {
  const auto& [name, against, transport] = play.param;
  return absl::StrCat(name, transport == Transport::kCalls ? "" : "_in_a_session",
                      against == Against::kFake ? "_faked" : "");
}

class Scenario : public testing::TestWithParam<Play> {};
INSTANTIATE_TEST_SUITE_P(, Scenario,
                         testing::Combine(testing::ValuesIn(Names()),
                                          testing::Values(Against::kProcess, Against::kFake),
                                          testing::Values(Transport::kCalls, Transport::kSession)),
                         NameOf);

TEST_P(Scenario, GoesAsWritten) {
  const auto& [name, against, transport] = GetParam();
  const std::string file = absl::StrCat(Folder(), "/", name, ".scenario");
  EXPECT_EQ(PlayText(integration::ReadFile(file), against, transport), "") << file;
}

// ---- The player itself: it must notice ----

struct Wrong {
  const char* name;
  const char* text;
  const char* says;
};

TEST(Player, NoticesWhatIsWrong) {
  const std::string grant = "Reserve namespace: 'n' key: 'k'\n=> OK outcome: OUTCOME_FRESH\n";
  const Wrong rows[] = {
      {"another value", "Reserve namespace: 'n' key: 'k'\n=> OK outcome: OUTCOME_REPLAYED\n",
       "outcome is OUTCOME_FRESH"},
      {"a field that is not there", "Reserve namespace: 'n' key: 'k'\n=> OK holder {}\n",
       "holder is missing"},
      {"another size",
       "Batch operations {inspect {namespace: 'n' key: 'k'}}\n=> OK items {} items {}\n",
       "items has 1 items"},
      {"an error", "Reserve namespace: 'n'\n=> OK\n", "failed"},
      {"no error", "Reserve namespace: 'n' key: 'k'\n=> ABORTED SUPERSEDED\n", "should be ABORTED"},
      {"another reason", "Reserve namespace: 'n'\n=> INVALID_ARGUMENT SUPERSEDED\n",
       "another reason"},
      {"another field", "Reserve namespace: 'n'\n=> INVALID_ARGUMENT INVALID_FIELD field=owner\n",
       "other fields"},
      {"a directive that isn't one", "Resrve namespace: 'n'\n=> OK\n", "Resrve"},
      {"a request that isn't one", "Reserve keye: 'n'\n=> OK\n", "is no idempotency.v1"},
      {"nothing expected", "Reserve namespace: 'n' key: 'k'\n", "followed by =>"},
      {"a name that wasn't saved", "Reserve namespace: '$x'\n=> OK\n", "$x"},
      {"a field that is there", "+absent reservation.token\n",
       "line 3: reservation.token is there"},
      {"a path that isn't one", "+save x = reservation.tokem\n", "no field"},
      {"nothing to save", "+save x = replay.fence\n", "nothing to save"},
      {"not greater", "+save f = reservation.fence\ngreater reservation.fence $f\n", "not above"},
  };
  for (const Wrong& row : rows) {
    const std::string text = row.text[0] == '+' ? grant + (row.text + 1) : row.text;
    for (const Transport transport : {Transport::kCalls, Transport::kSession}) {
      const std::string said = PlayText(text, Against::kProcess, transport);
      EXPECT_TRUE(absl::StrContains(said, row.says)) << row.name << ": " << said;
    }
  }
}

}  // namespace
}  // namespace onced::scenarios
