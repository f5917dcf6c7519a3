#!/usr/bin/env bash
# A CGI program that receives webhooks: the body is on standard input, the headers are in the environment.
# NAMEWHARF_WEBHOOK_SECRET is the secret with which the webhook was registered.
set -euo pipefail
secret=$NAMEWHARF_WEBHOOK_SECRET

answer() {
	printf 'Status: %s\r\nContent-Type: text/plain\r\n\r\n' "$1"
	exit
}
hex() { od -An -v -tx1 | tr -d ' \n'; }

# Signs standard input with the key given as hexadecimal bytes.
hmac() { openssl dgst -sha256 -mac HMAC -macopt "hexkey:$1" -binary; }

body=$(mktemp)
trap 'rm -f "$body"' EXIT
head -c 1048576 >"$body"

# X-Service-Signature covers the body.
key=$(printf %s "$secret" | hex)
[ "$(hmac "$key" <"$body" | hex)" = "${HTTP_X_SERVICE_SIGNATURE-}" ] || answer '401 wrong signature'

# webhook-signature covers the timestamp too and so prevents replays.
case $secret in whsec_*) key=$(printf %s "${secret#whsec_}" | openssl base64 -d -A | hex) ;; esac
id=${HTTP_WEBHOOK_ID-} timestamp=${HTTP_WEBHOOK_TIMESTAMP-}
[[ $timestamp =~ ^[0-9]{1,12}$ ]] || answer '401 no timestamp'
age=$(($(date +%s) - 10#$timestamp))
((age > -300 && age < 300)) || answer '401 too old'
signature=v1,$({ printf '%s.%s.' "$id" "$timestamp" && cat "$body"; } | hmac "$key" | openssl base64 -A)
[[ " ${HTTP_WEBHOOK_SIGNATURE-} " == *" $signature "* ]] || answer '401 wrong signature'

# Store the event by its id, which may arrive twice, and process it after the answer.
echo "${HTTP_X_SERVICE_EVENT_TYPE-} $id" >&2
answer '200 OK'
