#!/bin/sh
# Make what compose.yaml reads: .env, and new passwords in secrets/. Run again, it changes no password.
set -eu
cd "$(dirname "$0")"
[ -e .env ] || cp env.example .env
umask 077
mkdir -p secrets

write() { printf '%s' "$2" >"secrets/$1"; }
generate() { [ -s "secrets/$1" ] || write "$1" "$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')"; }

generate postgres_password
generate app_password
generate secret_keys
generate grafana_password
app=$(cat secrets/app_password)
write admin_url "postgresql://postgres:$(cat secrets/postgres_password)@postgres:5432/keeps"
write database_url "postgresql://keeps_app:$app@pgbouncer:6432/keeps"
write worker_database_url "postgresql://keeps_app:$app@postgres:5432/keeps"
write pgbouncer_users "\"keeps_app\" \"$app\""

# Containers read the files as users of their own. Other users of this machine cannot enter the folder.
chmod 644 secrets/*
