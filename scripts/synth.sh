#!/usr/bin/env bash
# Synthesise one institution, validate its templates, render its files. Usage: synth.sh INSTITUTION ASSEMBLY
set -euo pipefail

main() {
  local institution=$1 assembly=$2
  local file="institutions/$institution.yaml"
  if [ ! -f "$file" ]; then
    echo "synth: there is no $file; give INSTITUTION=NAME of one of: $(basename -s .yaml -a institutions/*.yaml | tr '\n' ' ')" >&2
    exit 1
  fi
  rm -rf "$assembly/rendered"
  # Templates are validated below, by the native engine: the CDK's own would take seconds in each synth.
  CDK_VALIDATION=false CDK_OUTDIR=$assembly CDK_CONTEXT_JSON="{\"institution\":\"$institution\"}" python app.py
  trainshed check "$assembly"
  trainshed render "$file" --out "$assembly/rendered/$institution" >/dev/null
  cp "$file" "$assembly/rendered/$institution/institution.yaml"
  trainshed report "$assembly"
}

main "$@"
