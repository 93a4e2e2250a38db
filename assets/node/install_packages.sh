#!/bin/bash
# usage: install_packages.sh head|compute|login SLURM_VERSION [CACHE_DIR], or --list head|compute|login
#
# Slurm, munge and what belongs to them, from the distribution's mirror, whose signature apt checks,
# or from the package cache in CACHE_DIR, whose checksums are checked here. SLURM_VERSION is the
# beginning of the only version that is taken, such as 23.11. No daemon is started. --list prints the
# packages of a role.
set -euo pipefail
# shellcheck source=assets/node/common.sh
source "$(dirname "$0")/common.sh"

export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
readonly LISTS=/run/trainshed/apt NO_STARTS=/usr/sbin/policy-rc.d
readonly MARK="# trainshed: the boot starts daemons in its own order"
readonly COMMON=(slurm-client slurm-wlm-basic-plugins munge)
readonly HEAD=(slurmctld slurmdbd slurm-wlm-mysql-plugin mariadb-server mariadb-client python3-boto3)
readonly COMPUTE=(slurmd iptables mdadm)
readonly LOGIN=(iptables)
# What Enroot calls.
readonly CONTAINERS=(squashfs-tools jq parallel curl zstd libcap2-bin)
readonly OWN_UNITS=(munge slurmd slurmctld slurmdbd mariadb)

main() {
  if [[ $1 == --list ]]; then
    packages "$2"
    return
  fi
  local role=$1 version=$2 cache=${3:-}
  local -a wanted missing
  mapfile -t wanted < <(packages "$role")
  mapfile -t missing < <(printf '%s\n' "${wanted[@]}" | grep -vxF -f <(installed))
  if ((${#missing[@]} > 0)); then
    allow_no_starts
    if [[ -n $cache ]]; then
      install_from_cache "$cache" "$version" "${missing[@]}"
    else
      install_from_mirror "$version" "${missing[@]}"
    fi
  fi
  # Also the rule of an installation that was cut off after its last package.
  allow_starts
  check_version "$version"
  hold "${wanted[@]}"
  disable_units
  echo "install_packages: $role has Slurm $(slurm_installed)"
}

packages() {
  case $1 in
  head) printf '%s\n' "${COMMON[@]}" "${HEAD[@]}" "${CONTAINERS[@]}" ;;
  compute) printf '%s\n' "${COMMON[@]}" "${COMPUTE[@]}" "${CONTAINERS[@]}" "$(pmix)" ;;
  login) printf '%s\n' "${COMMON[@]}" "${LOGIN[@]}" "${CONTAINERS[@]}" ;;
  *) fail "the role is '$1'; use head, compute or login" ;;
  esac
}

# Renamed with the move to 64-bit time, in Ubuntu 24.04 and Debian 13.
pmix() {
  case $(sed -n "s/^VERSION_CODENAME=//p" /etc/os-release) in
  jammy | bookworm) echo libpmix2 ;;
  *) echo libpmix2t64 ;;
  esac
}

installed() {
  dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | sed -n 's/^.i  *//p'
}

install_from_mirror() {
  local version=$1
  shift
  # The image has repositories of others too: one that does not answer must not keep nodes from
  # booting. Without Ubuntu's own, the next lines say what is missing.
  (apt_or_fail update) || echo "install_packages: going on with the repositories that answer" >&2
  check_candidate "$version"
  apt_or_fail install --no-install-recommends "$@"
}

# Only the cache is a source: what it lacks is said, and not fetched from elsewhere.
install_from_cache() {
  local cache=$1 version=$2
  shift 2
  (cd "$cache" && sha256sum --check --quiet SHA256SUMS) ||
    fail "the package cache is damaged, see above; nothing was installed"
  mkdir -p "$LISTS/partial"
  echo "deb [trusted=yes] file:$cache ./" >/run/trainshed/cache.list
  local -a options=(-o Dir::Etc::SourceList=/run/trainshed/cache.list -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$LISTS")
  apt_or_fail "${options[@]}" update
  check_candidate "$version" "${options[@]}"
  apt_or_fail "${options[@]}" install --no-install-recommends "$@"
}

apt_or_fail() {
  apt_get -o APT::Update::Error-Mode=any "$@" || fail "apt-get ${*: -1} failed, see above"
}

check_candidate() {
  local version=$1 candidate
  shift
  candidate=$(apt-cache "$@" policy slurm-client | awk '$1 == "Candidate:" {print $2}')
  [[ $candidate == "$version"* ]] ||
    fail "the packages offered have Slurm ${candidate:-none}, the fleet is pinned to $version"
}

check_version() {
  [[ $(slurm_installed) == "$1"* ]] ||
    fail "Slurm $(slurm_installed) is installed, the fleet is pinned to $1"
}

slurm_installed() {
  # shellcheck disable=SC2016 # dpkg-query's own variables
  dpkg-query -W -f '${Version}' slurm-client
}

hold() {
  local -a held
  mapfile -t held < <(comm -23 <(printf '%s\n' "$@" | grep -E 'slurm|munge|mariadb' | sort) <(apt-mark showhold | sort))
  ((${#held[@]} == 0)) || apt-mark hold "${held[@]}" >/dev/null
}

allow_no_starts() {
  if [[ -e $NO_STARTS ]] && ! grep -qxF "$MARK" "$NO_STARTS"; then
    return # the image's own rule; it is not ours to take away
  fi
  write_file "$NO_STARTS" 0755 root <<<$'#!/bin/sh\n'"$MARK"$'\nexit 101'
}

allow_starts() {
  if grep -qxF "$MARK" "$NO_STARTS" 2>/dev/null; then
    rm "$NO_STARTS"
  fi
}

# The boot starts them, after what they need has been seen to be there.
disable_units() {
  local unit
  if grep -qx enabled <<<"$(systemctl is-enabled "${OWN_UNITS[@]}" 2>/dev/null)"; then
    for unit in "${OWN_UNITS[@]}"; do
      systemctl disable --quiet "$unit" 2>/dev/null || true # those of other roles are not there
    done
  fi
}

main "$@"
