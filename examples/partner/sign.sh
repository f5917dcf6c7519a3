#!/usr/bin/env bash
# Sends a signed request and prints the answer.
#   sign.sh METHOD PATH[?QUERY] [BODY [IDEMPOTENCY-KEY]]
# NAMEWHARF_BASE_URL, NAMEWHARF_KEY_ID and NAMEWHARF_PARTNER_SECRET are read from the environment.
set -euo pipefail
export LC_ALL=C # bytes, not characters

# Percent-decodes one side of key=value to hexadecimal, which sorts in the order of the bytes.
bytes() {
	local s=${1//+/ }
	s=${s//\\/%5C}
	printf %b "${s//%/\\x}" | od -An -v -tx1 | tr -d ' \n'
}

# Percent-encodes hexadecimal bytes.
encoded() {
	local hex=$1 byte
	while [ -n "$hex" ]; do
		byte=${hex:0:2} hex=${hex:2}
		case $byte in
		2d | 2e | 3[0-9] | 4[1-9a-f] | 5[0-9af] | 6[1-9a-f] | 7[0-9ae]) printf %b "\\x$byte" ;; # - . 0-9 A-Z _ a-z ~
		*) printf %%%s "$byte" | tr a-f A-F ;;
		esac
	done
}

canonical_query() {
	local pair key value separator=
	tr '&' '\n' <<<"$1" | while IFS= read -r pair; do
		[ -n "$pair" ] || continue
		key=${pair%%=*} value=
		[[ $pair != *=* ]] || value=${pair#*=}
		echo "$(bytes "$key").$(bytes "$value")"
	done | sort | while IFS=. read -r key value; do
		printf '%s%s=%s' "$separator" "$(encoded "$key")" "$(encoded "$value")"
		separator='&'
	done
}

method=$1 path=${2%%\?*} query= body=${3-} key=${4-}
[[ $2 != *\?* ]] || query=$(canonical_query "${2#*\?}")
timestamp=$(date +%s)
nonce=$(openssl rand -hex 16)
digest=$(printf %s "$body" | openssl dgst -sha256 | sed 's/.* //')
signature=$(printf '%s\n%s\n%s\n%s\n%s\n%s' "$method" "$path" "$query" "$timestamp" "$nonce" "$digest" |
	openssl dgst -sha256 -hmac "$NAMEWHARF_PARTNER_SECRET" | sed 's/.* //')

curl --silent --show-error --fail-with-body --max-time 30 --globoff --path-as-is --write-out '\n' --request "$method" \
	--header "X-Service-Key-Id: $NAMEWHARF_KEY_ID" \
	--header "X-Service-Timestamp: $timestamp" \
	--header "X-Service-Nonce: $nonce" \
	--header "X-Service-Signature: v1=$signature" \
	${key:+--header "Idempotency-Key: $key"} \
	${body:+--header "Content-Type: application/json" --data-raw "$body"} \
	"$NAMEWHARF_BASE_URL$path${query:+?$query}"
