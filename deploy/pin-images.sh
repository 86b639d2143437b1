#!/bin/sh
# Add to each image of .env the digest that its tag has now. Needs Docker with buildx, and access to the registries.
set -eu
cd "$(dirname "$0")"
pinned=$(mktemp .env.XXXXXX)
trap 'rm -f "$pinned"' EXIT
while IFS= read -r line; do
    case $line in
    '#'* | *@sha256:*) ;;
    *_IMAGE=*)
        digest=$(docker buildx imagetools inspect "${line#*=}" --format '{{.Manifest.Digest}}')
        line=$line@$digest
        ;;
    esac
    printf '%s\n' "$line"
done <.env >"$pinned"
chmod 644 "$pinned"
mv "$pinned" .env
