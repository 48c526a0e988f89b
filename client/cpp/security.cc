#include "client/cpp/security.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cpp/pem.h"

namespace onced::client {
namespace {

constexpr std::size_t kPemBytesMax = 1 << 20;
constexpr std::size_t kTokenBytesMax = 4096;

absl::StatusOr<std::string> ReadAll(const std::string& path, std::size_t bytes_max) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             std::fclose);
  const auto failed = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": can't be read: ", std::strerror(errno)));
  };
  if (file == nullptr) return failed();
  std::string text(bytes_max + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return failed();
  if (text.size() > bytes_max) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": has over ", bytes_max, " bytes"));
  }
  return text;
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  const auto text = ReadAll(path, kTokenBytesMax);
  if (!text.ok()) return text.status();
  const absl::string_view token = absl::StripAsciiWhitespace(*text);
  const bool plain = !token.empty() && std::all_of(token.begin(), token.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  if (plain) return std::string(token);
  return absl::InvalidArgumentError(absl::StrCat(path, ": doesn't hold one line with a token"));
}

// Asked before each call; the file is read only if it isn't the one that was read last.
// Threads: GetMetadata() on any of gRPC's.
class TokenFile final : public grpc::MetadataCredentialsPlugin {
 public:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  bool IsBlocking() const override { return false; }  // A stat() is no wait worth a thread.
  const char* GetType() const override { return "onced token file"; }
  // Of others it would be the token.
  grpc::string DebugString() override { return absl::StrCat("token of ", path_); }

  grpc::Status GetMetadata(grpc::string_ref /*url*/, grpc::string_ref /*method*/,
                           const grpc::AuthContext& /*peer*/,
                           std::multimap<grpc::string, grpc::string>* metadata) override {
    const std::lock_guard lock(mutex_);
    if (const absl::Status status = Refresh(); !status.ok()) {
      return {grpc::StatusCode::UNAVAILABLE, std::string(status.message())};
    }
    metadata->emplace("authorization", absl::StrCat("Bearer ", token_));
    return grpc::Status::OK;
  }

 private:
  // What tells a file from one that replaced it.
  using Version = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;

  absl::Status Refresh() {
    struct stat found {};
    if (stat(path_.c_str(), &found) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": can't be read: ", std::strerror(errno)));
    }
    const Version version{found.st_dev, found.st_ino, found.st_size, found.st_mtim.tv_sec,
                          found.st_mtim.tv_nsec};
    if (!token_.empty() && version == version_) return absl::OkStatus();
    auto token = ReadToken(path_);
    if (!token.ok()) return token.status();
    token_ = *std::move(token);
    version_ = version;
    return absl::OkStatus();
  }

  const std::string path_;

  std::mutex mutex_;
  std::string token_;
  Version version_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(const TlsFiles& files) {
  if (files.certificate.empty() != files.key.empty()) {
    return absl::InvalidArgumentError("a client's certificate and its key go together");
  }
  grpc::SslCredentialsOptions options;
  const std::pair<const std::string*, grpc::string*> all[] = {
      {&files.ca, &options.pem_root_certs},
      {&files.certificate, &options.pem_cert_chain},
      {&files.key, &options.pem_private_key}};
  for (const auto& [path, pem] : all) {
    if (path->empty()) continue;
    auto text = ReadAll(*path, kPemBytesMax);
    if (!text.ok()) return text.status();
    if (text->empty()) return absl::InvalidArgumentError(absl::StrCat(*path, ": is empty"));
    *pem = *std::move(text);
  }
  // gRPC would say it in its own log, and of each call only that it failed.
  if (!options.pem_root_certs.empty() && !HasCertificate(options.pem_root_certs)) {
    return absl::InvalidArgumentError(absl::StrCat(files.ca, ": has no certificate (PEM)"));
  }
  if (!files.certificate.empty() && !IsKeyOf(options.pem_private_key, options.pem_cert_chain)) {
    return absl::InvalidArgumentError(absl::StrCat(
        files.key, ": is not the key (PEM) of the certificate in ", files.certificate));
  }
  return grpc::SslCredentials(options);
}

absl::Status CheckTokenFile(const std::string& file) { return ReadToken(file).status(); }

std::shared_ptr<grpc::ChannelCredentials> WithTokenFile(
    const std::shared_ptr<grpc::ChannelCredentials>& channel, const std::string& file) {
  // Of no security: that the channel encrypts, or goes to this machine, is seen to by it.
  return grpc::CompositeChannelCredentials(
      channel, grpc::experimental::MetadataCredentialsFromPlugin(std::make_unique<TokenFile>(file),
                                                                 GRPC_SECURITY_NONE));
}

}  // namespace onced::client
