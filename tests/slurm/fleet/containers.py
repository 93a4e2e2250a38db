"""Stand-ins for Enroot and Pyxis, built by the script that ships against a real Slurm's headers.

Their sources are on GitHub, which tests do without. Everything else is real: clones of pinned
commits, a compiler, Slurm's headers, the plugin in Slurm's own processes.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from trainshed._assets import ASSETS

from . import sandbox
from .image import PACKAGES

VERSIONS = tuple(sandbox.BUILD_ROOTS)
"""Slurm's versions whose headers there are."""
# Takes Pyxis's option and argument, and tells the task of both.
_PYXIS = r"""
#include <slurm/spank.h>
#include <stdio.h>
#include <string.h>

SPANK_PLUGIN(pyxis, 1);

static char image[256], runtime[256];

static int take(int value, const char *given, int remote) {
  (void)value, (void)remote;
  snprintf(image, sizeof image, "%s", given);
  return 0;
}

static struct spank_option option = {"container-image", "IMAGE", "what to run in", 1, 0, take};

int slurm_spank_init(spank_t sp, int argc, char **argv) {
  for (int i = 0; i < argc; i++)
    if (strncmp(argv[i], "runtime_path=", 13) == 0)
      snprintf(runtime, sizeof runtime, "%s", argv[i] + 13);
  return spank_option_register(sp, &option) == ESPANK_SUCCESS ? 0 : -1;
}

int slurm_spank_task_init(spank_t sp, int argc, char **argv) {
  (void)argc, (void)argv;
  if (image[0] == '\0')
    return 0;
  spank_setenv(sp, "LAB_IMAGE", image, 1);
  return spank_setenv(sp, "LAB_RUNTIME", runtime, 1) == ESPANK_SUCCESS ? 0 : -1;
}
"""
_PYXIS_MAKE = """\
install:
\t$(CC) -Wall -Wextra -Werror -shared -fpic -o spank_pyxis.so pyxis.c
\tinstall -D -m 644 spank_pyxis.so $(DESTDIR)$(prefix)/lib/slurm/spank_pyxis.so
"""
# As Enroot's own, it writes the directories of the build into what it installs.
_ENROOT_MAKE = """\
install:
\tinstall -D -m 755 enroot $(DESTDIR)$(prefix)/bin/enroot
\tsed -i 's#@sysconfdir@#$(DESTDIR)$(sysconfdir)#' $(DESTDIR)$(prefix)/bin/enroot
\tinstall -m 755 /bin/true $(DESTDIR)$(prefix)/bin/enroot-mksquashovlfs
\tinstall -m 755 /bin/true $(DESTDIR)$(prefix)/bin/enroot-aufs2ovlfs
\tinstall -d $(DESTDIR)$(sysconfdir)/enroot/enroot.conf.d $(DESTDIR)$(sysconfdir)/enroot/environ.d
\techo '# none' >$(DESTDIR)$(sysconfdir)/enroot/enroot.conf
\techo '# none' >$(DESTDIR)$(sysconfdir)/enroot/environ.d/10-terminal.env
\tinstall -d $(DESTDIR)$(prefix)/share/enroot/hooks.d $(DESTDIR)$(sysconfdir)/enroot/hooks.d
\techo '# none' >$(DESTDIR)$(sysconfdir)/enroot/hooks.d/10-none.sh
\techo '# PMI' >$(DESTDIR)$(prefix)/share/enroot/hooks.d/50-slurm-pmi.sh
\techo 'profile' >$(DESTDIR)$(prefix)/share/enroot/apparmor.profile
\tln -s enroot $(DESTDIR)$(prefix)/bin/enroot-link
"""
_ENROOT = """\
#!/bin/bash
# Prints where it keeps what it unpacks, then the environment of a container.
while read -r name value; do
  eval "export $name=$value"
done <@sysconfdir@/enroot/enroot.conf.d/trainshed.conf
echo "$ENROOT_DATA_PATH"
export ENROOT_ENVIRON
ENROOT_ENVIRON=$(mktemp)
sed '/^#/d' @sysconfdir@/enroot/environ.d/*.env >"$ENROOT_ENVIRON"
for hook in @sysconfdir@/enroot/hooks.d/*.sh; do
  [[ ! -x $hook ]] || "$hook"
done
cat "$ENROOT_ENVIRON"
"""
_SOURCES = {
    "enroot": {"Makefile": _ENROOT_MAKE, "enroot": _ENROOT},
    "pyxis": {"Makefile": _PYXIS_MAKE, "pyxis.c": _PYXIS},
}


def build(version: str, work: Path, *, wrong_commit: bool = False) -> Path:
    """Build for a Slurm version, and return what build_containers.sh has made.

    Args:
        version: Slurm's version.
        work: Empty directory.
        wrong_commit: Pin a commit that there is not.

    Raises:
        RuntimeError: It does not build; the message is what the script said.
    """
    shutil.copytree(ASSETS / "node", work / "node")
    lock = work / "node/containers.lock"
    lines = [line.split() for line in lock.read_text().splitlines() if not line.startswith("#")]
    pins = {name: _repository(work / name, _SOURCES[name]) for name, *_ in lines}
    if wrong_commit:
        pins["pyxis"] = "b" * 40
    lock.write_text("".join(f"{name} 1 file:///mnt/{name} {pin}\n" for name, pin in pins.items()))
    script = ("/mnt/node/build_containers.sh", "/mnt/built")
    done = sandbox.run(sandbox.BUILD_ROOTS[version], work, *script)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return work / "built"


def package_cache(containers: Path | None) -> bytes:
    """Return the lab's package cache with containers beside the packages."""
    made = io.BytesIO(PACKAGES.read_bytes())
    if containers:
        with tarfile.open(fileobj=made, mode="a") as tar:
            tar.add(containers, "./containers")
    return made.getvalue()


def _repository(directory: Path, files: dict[str, str]) -> str:
    directory.mkdir()
    for name, text in files.items():
        (directory / name).write_text(text)
    git = ["git", "-C", str(directory), "-c", "user.name=lab", "-c", "user.email=lab@example.org"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], check=True, env=environment)
    head = subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True, env=environment
    )
    return head.stdout.strip()
