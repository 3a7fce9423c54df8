#!/usr/bin/env bash
# Builds the documentation site into build-docs/ (mkdocs.yml). A broken link, or a page that the navigation does not
# name, fails. The site needs no network: open build-docs/index.html.
#
#   scripts/docs.sh [serve]     serve: rebuild on every change, on http://127.0.0.1:8000
set -euo pipefail
cd "$(dirname "$0")/.."

export NO_MKDOCS_2_WARNING=1
case ${1:-build} in
  build)
    .deps/venv/bin/python -m mkdocs build --quiet
    echo "docs: build-docs/index.html"
    ;;
  serve) exec .deps/venv/bin/python -m mkdocs serve --dev-addr 127.0.0.1:8000 ;;
  *)
    echo "usage: scripts/docs.sh [serve]" >&2
    exit 2
    ;;
esac
