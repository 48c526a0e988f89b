// The server's certificate, looked at before anybody is shown it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onced {

// All as PEM.
struct Certificate {
  std::string chain;      // The server's own certificate first, then who signed it.
  std::string key;        // Of the first.
  std::string client_ca;  // Who may have signed clients' certificates. Empty: they need none.
  // Of the first in the chain to expire.
  absl::Time not_after;
  // Of the last of the clients' authorities to expire: from then on no client comes in.
  absl::Time client_ca_not_after = absl::InfiniteFuture();
};

struct CertificatePaths {
  std::string chain;
  std::string key;
  std::string client_ca;  // Empty: none.

  std::vector<std::string> files() const;
};

// When the first certificate in a PEM text expires; an error if there is none.
absl::StatusOr<absl::Time> CertificateExpiryOf(absl::string_view pem);

// Of the texts of files(): whole, of one another, and valid at `now`. An error names the
// file, and has nothing of what is in it.
absl::StatusOr<Certificate> CheckCertificate(const CertificatePaths& paths,
                                             const std::vector<std::string>& texts, absl::Time now);

}  // namespace onced
