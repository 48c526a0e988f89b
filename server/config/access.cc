#include "server/config/access.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/names.h"
#include "server/config/values.h"

namespace onced {
namespace {

constexpr absl::string_view kRights[] = {"use", "inspect", "admin"};
// As long as a SPIFFE ID may be.
constexpr std::size_t kIdentityBytesMax = 2'048;
constexpr std::size_t kEntriesMax = 10'000;

bool IsUpper(char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); }

bool IsUri(absl::string_view text) {
  const std::size_t colon = text.find("://");
  return colon != absl::string_view::npos && colon > 0 && AreNameBytes(text.substr(0, colon)) &&
         text.size() > colon + 3;
}

// "" if it is an identity, else the rule that it broke.
absl::string_view IdentityRule(absl::string_view text) {
  if (text.size() > kIdentityBytesMax) return "must have at most 2048 bytes";
  const bool dns = absl::ConsumePrefix(&text, "dns:");
  if (dns || absl::ConsumePrefix(&text, "token:")) {
    if (text.empty() || !AreNameBytes(text)) {
      return "must have a name of [A-Za-z0-9._-] after the colon";
    }
    // A certificate's are taken so: DNS knows no difference.
    if (dns && std::any_of(text.begin(), text.end(), IsUpper)) {
      return "must have a DNS name in small letters";
    }
    return "";
  }
  absl::ConsumeSuffix(&text, "/*");
  if (absl::StrContains(text, '*')) return "may have a * at the end of a URI only, after a /";
  return IsUri(text) ? ""
                     : "must be a URI such as spiffe://prod/ns/shop/sa/pay, dns:NAME or token:NAME";
}

bool IsNamespacePattern(absl::string_view text) {
  const bool open = absl::ConsumeSuffix(&text, "*");
  if (text.empty()) return open;
  return IsName(text, limits::kNamespaceBytesMax);
}

// Reads one entry of the list.
class EntryReader {
 public:
  EntryReader(std::size_t index, const std::string& path, ConfigErrors& errors)
      : name_(absl::StrCat(kAccessKey, "[", index, "]")), path_(path), errors_(errors) {}

  AccessList::Entry Read(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kMap) {
      errors_.Add(name_, At(node.line), "must be a map of identity, namespaces and rights");
      return {};
    }
    for (const YamlEntry& entry : node.entries) ReadKey(entry);
    for (const absl::string_view key : {"identity", "namespaces", "rights"}) {
      const bool there = std::any_of(node.entries.begin(), node.entries.end(),
                                     [&](const YamlEntry& entry) { return entry.key == key; });
      if (!there) errors_.Add(Path(key), At(node.line), "is required");
    }
    return std::move(entry_);
  }

 private:
  void ReadKey(const YamlEntry& entry) {
    if (entry.key == "identity") return ReadIdentity(entry);
    if (entry.key == "namespaces") {
      return ReadWords(entry, [this](const YamlNode& word) { AddNamespace(word); });
    }
    if (entry.key == "rights") {
      return ReadWords(entry, [this](const YamlNode& word) { AddRight(word); });
    }
    errors_.Add(Path(entry.key), At(entry.line), "is not a key of an entry");
  }

  void ReadIdentity(const YamlEntry& entry) {
    entry_.identity = entry.value.scalar;
    const absl::string_view rule = IdentityRule(entry_.identity);
    if (!rule.empty()) errors_.Add(Path("identity"), At(entry.line), entry_.identity, rule);
  }

  template <typename Add>
  void ReadWords(const YamlEntry& entry, Add add) {
    const bool list = entry.value.kind == YamlNode::Kind::kList && !entry.value.entries.empty();
    if (!list) return errors_.Add(Path(entry.key), At(entry.line), "must be a list, not empty");
    for (const YamlEntry& word : entry.value.entries) add(word.value);
  }

  void AddNamespace(const YamlNode& word) {
    if (word.kind == YamlNode::Kind::kScalar && IsNamespacePattern(word.scalar)) {
      return entry_.namespaces.push_back(word.scalar);
    }
    errors_.Add(Path("namespaces"), At(word.line), word.scalar,
                "must be a namespace, the beginning of some and a *, or \"*\" for all");
  }

  void AddRight(const YamlNode& word) {
    const absl::StatusOr<std::size_t> right = ParseWord(word.scalar, kRights);
    if (!right.ok()) {
      return errors_.Add(Path("rights"), At(word.line), word.scalar, right.status().message());
    }
    bool* const rights[] = {&entry_.rights.use, &entry_.rights.inspect, &entry_.rights.admin};
    *rights[*right] = true;
  }

  std::string Path(absl::string_view key) const { return absl::StrCat(name_, ".", key); }
  std::string At(int line) const { return absl::StrCat(path_, ":", line); }

  const std::string name_;
  const std::string& path_;
  ConfigErrors& errors_;
  AccessList::Entry entry_;
};

// ---- The whole ----

void CheckTls(const Config& config, ConfigErrors& errors) {
  const bool cert = !config.tls_cert.empty();
  if (cert && config.tls_key.empty()) errors.Add("tls_key", "", "is required with tls_cert");
  if (!cert && !config.tls_key.empty()) errors.Add("tls_cert", "", "is required with tls_key");
  if (!cert && !config.tls_client_ca.empty()) {
    errors.Add("tls_client_ca", "", "needs tls_cert and tls_key");
  }
  if (config.tls_client_auth.has_value() && config.tls_client_ca.empty()) {
    errors.Add("tls_client_auth", "", "needs tls_client_ca");
  }
}

// Whether those who call can be told apart, and whether it is said who may do what: both
// or neither.
void CheckIdentities(const Config& config, ConfigErrors& errors) {
  const bool identifies = !config.tls_client_ca.empty() || !config.token_file.empty();
  if (!config.access.empty() && config.insecure) {
    errors.Add("insecure", "", "must not be set beside access: would it hold or not?");
  } else if (!config.access.empty() && !identifies) {
    errors.Add(kAccessKey, "", "needs a way to tell who calls: tls_client_ca, token_file, or both");
  } else if (config.access.empty() && identifies && !errors.Mentions(kAccessKey)) {
    errors.Add(config.token_file.empty() ? "tls_client_ca" : "token_file", "",
               "is of no use without access: nobody may do anything");
  }
}

void CheckReach(absl::string_view setting, const Endpoint& endpoint, const Config& config,
                ConfigErrors& errors) {
  if (IsLoopback(endpoint) || config.insecure) return;
  if (config.tls_cert.empty() && !config.token_file.empty()) {
    return errors.Add(setting, "", ToText(endpoint),
                      "tokens would be sent in the clear: set tls_cert and tls_key");
  }
  if (!config.tls_cert.empty() && !config.access.empty()) return;
  errors.Add(setting, "", ToText(endpoint),
             "is not a loopback address: set tls_cert, tls_key and access, with tls_client_ca or "
             "token_file; or insecure: yes, to serve whoever comes");
}

}  // namespace

void ReadAccess(const YamlEntry& access, const std::string& path, Config& config,
                ConfigErrors& errors) {
  const YamlNode& node = access.value;
  const std::string at = absl::StrCat(path, ":", access.line);
  if (node.kind != YamlNode::Kind::kList || node.entries.empty()) {
    return errors.Add(kAccessKey, at, "must be a list of entries, not empty");
  }
  if (node.entries.size() > kEntriesMax) {
    return errors.Add(kAccessKey, at, absl::StrCat("must have at most ", kEntriesMax, " entries"));
  }
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    config.access.push_back(EntryReader(i, path, errors).Read(node.entries[i].value));
  }
}

void CheckSecurity(const Config& config, ConfigErrors& errors) {
  CheckTls(config, errors);
  CheckIdentities(config, errors);
  CheckReach("listen", config.listen, config, errors);
  if (config.admin_listen.has_value()) {
    CheckReach("admin_listen", *config.admin_listen, config, errors);
  }
}

}  // namespace onced
