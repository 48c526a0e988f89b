// The access list, from the file.
#pragma once

#include <string>

#include "server/config/config.h"
#include "server/config/errors.h"
#include "server/config/yaml.h"

namespace onced {

// A top-level key of the file that is not in Settings().
inline constexpr absl::string_view kAccessKey = "access";

// Sets the access list in `config`.
void ReadAccess(const YamlEntry& access, const std::string& path, Config& config,
                ConfigErrors& errors);

// What no setting can say by itself of who may come from where: nobody who isn't asked
// who they are comes from another machine, unless that was said in so many words.
void CheckSecurity(const Config& config, ConfigErrors& errors);

}  // namespace onced
