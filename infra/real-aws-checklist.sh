#!/usr/bin/env bash
# What no local server can show, asked of AWS itself: see real-aws-checklist.md beside this file.
set -euo pipefail

usage="usage: real-aws-checklist.sh begin|look|end NAME   (NAME: a word of your own, such as checklist-7; it names a bucket), or metrics STACK"
step=${1:?$usage}
name=${2:?$usage}
bucket="stayput-$name"
kept="${TMPDIR:-/tmp}/stayput-$name"
mkdir -p "$kept/direct" "$kept/bus"
export AWS_PAGER=""

# Version 1 of the command knows other addresses for SQS; this tries the script on a local server with it.
aws() { command aws ${AWS_ENDPOINT_URL:+--endpoint-url "$AWS_ENDPOINT_URL"} "$@"; }

account() { aws sts get-caller-identity --query Account --output text; }
url() { aws sqs get-queue-url --queue-name "$bucket-$1" --query QueueUrl --output text; }
arn() { aws sqs get-queue-attributes --queue-url "$(url "$1")" --attribute-names QueueArn --query Attributes.QueueArn --output text; }

# One line for each question: what was expected, and whether it is so.
say() { printf '%-8s %s\n' "$1" "$2"; }
expect() { # QUESTION WANTED GOT
  if [ "$2" = "$3" ]; then say ok "$1"; else say DIFFERS "$1: expected $2, got ${3:-nothing}"; fi
}

copy_back() { # KEY VERSION [CONDITION VALUE] -> error code, or nothing
  aws s3api copy-object --bucket "$bucket" --key "$1" --copy-source "$bucket/$1?versionId=$2" "${3:---if-none-match}" "${4:-*}" \
    --metadata-directive REPLACE --metadata stayput-count=1 --tagging-directive COPY 2>&1 >/dev/null |
    sed -n 's/.*An error occurred (\([A-Za-z]*\)).*/\1/p'
}

begin() {
  aws s3 mb "s3://$bucket"
  aws s3api put-bucket-versioning --bucket "$bucket" --versioning-configuration Status=Enabled
  for queue in direct bus; do
    aws sqs create-queue --queue-name "$bucket-$queue" --attributes MessageRetentionPeriod=1209600 >/dev/null
    policy=$(jq -nc --arg arn "$(arn $queue)" '{Version:"2012-10-17",Statement:[{Effect:"Allow",Principal:{Service:["s3.amazonaws.com","events.amazonaws.com"]},Action:"sqs:SendMessage",Resource:$arn}]}')
    aws sqs set-queue-attributes --queue-url "$(url $queue)" --attributes "$(jq -nc --arg p "$policy" '{Policy:$p}')"
  done
  aws events put-rule --name "$bucket" --event-pattern "$(jq -nc --arg b "$bucket" '{source:["aws.s3"],detail:{bucket:{name:[$b]}}}')" >/dev/null
  aws events put-targets --rule "$bucket" --targets "Id=queue,Arn=$(arn bus)" >/dev/null
  aws s3api put-bucket-notification-configuration --bucket "$bucket" --notification-configuration "$(jq -nc --arg arn "$(arn direct)" \
    '{QueueConfigurations:[{Id:"all",QueueArn:$arn,Events:["s3:ObjectRemoved:*","s3:LifecycleExpiration:*","s3:LifecycleTransition"]}],EventBridgeConfiguration:{}}')"
  aws s3api put-bucket-lifecycle-configuration --bucket "$bucket" --lifecycle-configuration '{"Rules":[
    {"ID":"checklist","Status":"Enabled","Filter":{"Prefix":"expires/"},"Expiration":{"Days":1},"NoncurrentVersionExpiration":{"NoncurrentDays":1}},
    {"ID":"markers","Status":"Enabled","Filter":{"Prefix":"expires/"},"Expiration":{"ExpiredObjectDeleteMarker":true}}]}' >/dev/null ||
    say DIFFERS "two rules on one prefix were refused"
  echo state > "$kept/state"
  for key in expires/a expires/b 'named/a b+c%d' named/tagged named/purged; do
    aws s3api put-object --bucket "$bucket" --key "$key" --body "$kept/state" --query VersionId --output text > "$kept/version"
    cp "$kept/version" "$kept/version-$(basename "$key" | tr -c 'a-z\n' _)"
  done
  aws s3api put-object-tagging --bucket "$bucket" --key named/tagged --tagging 'TagSet=[{Key=keep,Value=yes}]' >/dev/null

  # A hidden version comes back by a copy on condition that nothing is there, and a second copy is refused.
  source=$(cat "$kept/version-tagged")
  aws s3api delete-object --bucket "$bucket" --key named/tagged >/dev/null
  expect "a copy of a hidden version onto its own key with If-None-Match: * is made" "" "$(copy_back named/tagged "$source")"
  expect "a second one is refused, as something is visible" PreconditionFailed "$(copy_back named/tagged "$source")"
  expect "the copy has the tags of its source" yes "$(aws s3api get-object-tagging --bucket "$bucket" --key named/tagged --query 'TagSet[0].Value' --output text)"

  # What is visible is copied onto itself on condition that it is still that, and not once somebody wrote.
  etag=$(aws s3api head-object --bucket "$bucket" --key named/tagged --query ETag --output text)
  expect "a copy onto itself with If-Match its ETag is made" "" "$(copy_back named/tagged "$source" --if-match "$etag")"
  echo other > "$kept/other"
  aws s3api put-object --bucket "$bucket" --key named/tagged --body "$kept/other" >/dev/null
  expect "a copy onto what somebody else wrote since is refused" PreconditionFailed "$(copy_back named/tagged "$source" --if-match "$etag")"

  # Deletions of all kinds, for the events.
  aws s3api delete-object --bucket "$bucket" --key 'named/a b+c%d' >/dev/null
  aws s3api delete-object --bucket "$bucket" --key named/never-there >/dev/null
  aws s3api delete-object --bucket "$bucket" --key named/purged --version-id "$(cat "$kept/version-purged")" >/dev/null
  aws sts get-caller-identity --query UserId --output text > "$kept/who"
  say wait "look again in five minutes, and once more after two nights (rules run after midnight UTC, some hours late)"
}

# Takes all messages off a queue into files, so that they can be looked at again.
take() {
  while messages=$(aws sqs receive-message --queue-url "$(url "$1")" --max-number-of-messages 10 --wait-time-seconds 2 --output json) && [ -n "$messages" ] &&
    [ "$(jq '.Messages // [] | length' <<<"$messages")" -gt 0 ]; do
    jq -c '.Messages[]' <<<"$messages" | while read -r message; do
      jq -r .Body <<<"$message" > "$kept/$1/$(jq -r .MessageId <<<"$message").json"
      aws sqs delete-message --queue-url "$(url "$1")" --receipt-handle "$(jq -r .ReceiptHandle <<<"$message")"
    done
  done
}

direct() { # JQ-CONDITION JQ-ANSWER: of the first record that fits
  cat "$kept"/direct/*.json 2>/dev/null | jq -rs "[.[] | .Records[]? | select($1)][0] | ($2) // empty" 2>/dev/null || true
}
bus() {
  cat "$kept"/bus/*.json 2>/dev/null | jq -rs "[.[] | select(.\"detail-type\" == \"Object Deleted\" and ($1))][0] | ($2) // empty" 2>/dev/null || true
}

look() {
  take direct
  take bus
  expect "the key in a notification is encoded as a form" 'named/a+b%2Bc%25d' "$(direct '.s3.object.key | test("a.b")' .s3.object.key)"
  expect "the key in an event of EventBridge isn't encoded" 'named/a b+c%d' "$(bus '.detail.object.key | test("a.b")' .detail.object.key)"
  expect "a notification names the caller by unique id and session" "AWS:$(cat "$kept/who")" "$(direct '.eventName == "ObjectRemoved:DeleteMarkerCreated"' .userIdentity.principalId)"
  expect "EventBridge names the account" "$(account)" "$(bus '.detail.reason == "DeleteObject"' .detail.requester)"
  expect "a marker over a key that never was is told of" named/never-there "$(direct '.s3.object.key == "named/never-there"' .s3.object.key)"
  expect "a version deleted by its id is ObjectRemoved:Delete with that id" "$(cat "$kept/version-purged")" "$(direct '.eventName == "ObjectRemoved:Delete"' .s3.object.versionId)"
  expect "its event has no size" "" "$(direct '.eventName == "ObjectRemoved:Delete"' .s3.object.size)"
  if [ -z "$(direct '.eventName | startswith("LifecycleExpiration")' .eventName)" ]; then
    say wait "no rule has run yet"
    return
  fi
  expect "a rule's marker is LifecycleExpiration:DeleteMarkerCreated" s3.amazonaws.com "$(direct '.eventName == "LifecycleExpiration:DeleteMarkerCreated"' .userIdentity.principalId)"
  expect "EventBridge gives the reason" s3.amazonaws.com "$(bus '.detail.reason == "Lifecycle Expiration"' .detail.requester)"
  marker=$(aws s3api list-object-versions --bucket "$bucket" --prefix expires/ --query 'DeleteMarkers[0].LastModified' --output text)
  expect "a rule's marker is dated midnight" 00:00:00 "$(sed -n 's/.*T\([0-9:]*\).*/\1/p' <<<"$marker")"
  purged=$(direct '.eventName == "LifecycleExpiration:Delete"' .s3.object.versionId)
  if [ -n "$purged" ]; then say ok "a noncurrent version's removal is LifecycleExpiration:Delete with its id"; else say wait "no noncurrent version has been removed yet"; fi
  say see "all of them as they came: $kept"
}

# Whether CloudWatch takes each metric that the log of a stack names out of its lines, in the last three hours.
metrics() {
  log=$(aws cloudformation describe-stacks --stack-name "$name" --query "Stacks[0].Outputs[?OutputKey=='LogGroup'].OutputValue" --output text)
  aws logs filter-log-events --log-group-name "$log" --start-time "$(($(date +%s) - 10800))000" --filter-pattern '{ $._aws.Timestamp = * }' \
    --query 'events[].message' --output json > "$kept/lines"
  jq -r '[.[] | fromjson | ._aws.CloudWatchMetrics[] | .Namespace as $in | .Metrics[] | "\($in) \(.Name)"] | unique[]' "$kept/lines" > "$kept/metrics"
  [ -s "$kept/metrics" ] || say wait "no line with metrics in the last three hours: call the sweep"
  while read -r namespace metric; do
    found=$(aws cloudwatch list-metrics --namespace "$namespace" --metric-name "$metric" --recently-active PT3H --query 'length(Metrics) > `0`' --output text)
    expect "CloudWatch has $metric" True "$found"
  done < "$kept/metrics"
}

end() {
  aws events remove-targets --rule "$bucket" --ids queue >/dev/null || true
  aws events delete-rule --name "$bucket" || true
  for queue in direct bus; do aws sqs delete-queue --queue-url "$(url $queue)" || true; done
  aws s3api list-object-versions --bucket "$bucket" --output json |
    jq -c '[(.Versions // [])[], (.DeleteMarkers // [])[]] | .[] | {Key, VersionId}' |
    while read -r version; do
      aws s3api delete-object --bucket "$bucket" --key "$(jq -r .Key <<<"$version")" --version-id "$(jq -r .VersionId <<<"$version")" >/dev/null
    done
  aws s3 rb "s3://$bucket"
}

case $step in
  begin | look | metrics | end) "$step" ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
