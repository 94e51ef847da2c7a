//! The few calls to a local S3, SQS, SNS, Lambda and CloudWatch Logs that the tests make, over plain HTTP.
//!
//! Not by the AWS SDK: the Lambda under test uses it, and what checks it should be another client. The local server
//! reads the service out of the signature's scope and checks no signature.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::HeaderMap;

/// The region and the account of everything.
pub const REGION: &str = "us-east-1";
const ACCOUNT: &str = "000000000000";

/// A local server that answers for S3, SQS, SNS, Lambda and CloudWatch Logs.
#[derive(Clone)]
pub struct Cloud {
    url: String,
    agent: Agent,
}

/// A queue.
#[derive(Clone)]
pub struct Queue {
    /// Its URL.
    pub url: String,
    /// Its ARN.
    pub arn: String,
}

/// A message that was received.
pub struct Received {
    /// Its body.
    pub body: String,
    receipt: String,
}

/// Bytes of a part of a large object.
const PART: usize = 16 << 20;

impl Cloud {
    /// The server at this URL; no `/` at the end.
    pub fn at(url: &str) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(60)))
            .http_status_as_error(false)
            .build();
        Self {
            url: url.to_owned(),
            agent: config.into(),
        }
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn call(
        &self,
        service: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, Vec<u8>) {
        let (status, _, answer) = self.exchange(service, method, path, headers, body);
        (status, answer)
    }

    fn exchange(
        &self,
        service: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, HeaderMap, Vec<u8>) {
        let scope = format!(
            "AWS4-HMAC-SHA256 Credential=test/20260101/{REGION}/{service}/aws4_request, SignedHeaders=host, Signature=0"
        );
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url));
        request = request.header("authorization", scope);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request
            .body(body)
            .unwrap_or_else(|e| panic!("{method} {path}: {e}"));
        let mut answer = self
            .agent
            .run(request)
            .unwrap_or_else(|e| panic!("{service}: {method} {path}: {e}"));
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = answer.body_mut().with_config().limit(64 << 20).read_to_vec();
        (
            status,
            headers,
            body.unwrap_or_else(|e| panic!("{service}: {method} {path}: {e}")),
        )
    }

    fn expect(
        &self,
        service: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Vec<u8> {
        let (status, answer) = self.call(service, method, path, headers, body);
        assert!(
            (200..300).contains(&status),
            "{service}: {method} {path}: {status} {}",
            String::from_utf8_lossy(&answer)
        );
        answer
    }

    fn json(&self, service: &str, target: &str, body: &Value) -> Value {
        let headers = [
            ("content-type", "application/x-amz-json-1.0"),
            ("x-amz-target", target),
        ];
        let answer = self.expect(service, "POST", "/", &headers, body.to_string().as_bytes());
        if answer.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&answer)
            .unwrap_or_else(|e| panic!("{target}: {e}: {}", String::from_utf8_lossy(&answer)))
    }

    /// Makes a bucket with versioning.
    pub fn make_versioned_bucket(&self, bucket: &str) {
        self.expect("s3", "PUT", &format!("/{bucket}"), &[], b"");
        let versioning = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
        self.expect("s3", "PUT", &format!("/{bucket}?versioning"), &[], versioning);
    }

    /// Tells a queue of every deletion in a bucket, by whomever.
    pub fn notify_of_deletions(&self, bucket: &str, queue: &Queue) {
        let arn = &queue.arn;
        let queues = format!(
            "<QueueConfiguration><Id>deletions</Id><Queue>{arn}</Queue>\
             <Event>s3:ObjectRemoved:*</Event><Event>s3:LifecycleExpiration:*</Event></QueueConfiguration>"
        );
        self.put_notifications(bucket, &queues);
    }

    /// Replaces what a bucket sends; `targets` are elements as in the API.
    pub fn put_notifications(&self, bucket: &str, targets: &str) {
        let configuration = format!("<NotificationConfiguration>{targets}</NotificationConfiguration>");
        self.expect(
            "s3",
            "PUT",
            &format!("/{bucket}?notification"),
            &[],
            configuration.as_bytes(),
        );
    }

    /// Writes one of a bucket's settings, such as `lifecycle`, as S3's API takes it.
    pub fn set(&self, bucket: &str, setting: &str, document: &str) {
        let path = format!("/{bucket}?{setting}");
        self.expect("s3", "PUT", &path, &[], document.as_bytes());
    }

    /// Reads one of a bucket's settings, as S3's API gives it.
    pub fn setting(&self, bucket: &str, setting: &str) -> String {
        let answer = self.expect("s3", "GET", &format!("/{bucket}?{setting}"), &[], b"");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Makes a bucket with Object Lock, which keeps versions.
    pub fn make_locked_bucket(&self, bucket: &str) {
        let headers = [("x-amz-bucket-object-lock-enabled", "true")];
        self.expect("s3", "PUT", &format!("/{bucket}"), &headers, b"");
    }

    /// Makes a bucket that keeps no versions.
    pub fn make_bucket(&self, bucket: &str) {
        self.expect("s3", "PUT", &format!("/{bucket}"), &[], b"");
    }

    /// Writes an object.
    pub fn put(&self, bucket: &str, key: &str, bytes: &[u8]) {
        self.expect("s3", "PUT", &format!("/{bucket}/{key}"), &[], bytes);
    }

    /// Writes an object in a storage class.
    pub fn put_in_class(&self, bucket: &str, key: &str, bytes: &[u8], class: &str) {
        let headers = [("x-amz-storage-class", class)];
        self.expect("s3", "PUT", &format!("/{bucket}/{key}"), &headers, bytes);
    }

    /// Writes a large object in parts, as Flink and the SDKs do: a server that takes its time over half a gigabyte answers for each part.
    pub fn put_in_parts(&self, bucket: &str, key: &str, bytes: &[u8]) {
        let id = self.begin_upload(bucket, key);
        let mut parts = String::new();
        for (number, part) in (1..).zip(bytes.chunks(PART)) {
            let path = format!("/{bucket}/{key}?partNumber={number}&uploadId={id}");
            let (status, headers, answer) = self.exchange("s3", "PUT", &path, &[], part);
            let etag = headers.get("etag").and_then(|etag| etag.to_str().ok());
            let (200, Some(etag)) = (status, etag) else {
                panic!("PUT {path}: {status} {}", String::from_utf8_lossy(&answer));
            };
            parts += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
        }
        let list = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        let path = format!("/{bucket}/{key}?uploadId={id}");
        self.expect("s3", "POST", &path, &[], list.as_bytes());
    }

    /// Begins an upload in parts. Its id.
    pub fn begin_upload(&self, bucket: &str, key: &str) -> String {
        let begun = self.expect("s3", "POST", &format!("/{bucket}/{key}?uploads"), &[], b"");
        let begun = String::from_utf8_lossy(&begun).into_owned();
        let id = begun
            .split_once("<UploadId>")
            .and_then(|(_, rest)| rest.split_once("</"));
        let (id, _) = id.unwrap_or_else(|| panic!("no upload id in {begun}"));
        id.to_owned()
    }

    /// The ids of the uploads that are open.
    pub fn uploads(&self, bucket: &str) -> Vec<String> {
        let answer = self.expect("s3", "GET", &format!("/{bucket}?uploads"), &[], b"");
        let text = String::from_utf8_lossy(&answer).into_owned();
        let ids = text.split("<UploadId>").skip(1);
        ids.filter_map(|part| part.split_once("</"))
            .map(|(id, _)| id.to_owned())
            .collect()
    }

    /// The version id of a visible object.
    pub fn version(&self, bucket: &str, key: &str) -> String {
        let (status, headers, _) = self.exchange("s3", "HEAD", &format!("/{bucket}/{key}"), &[], b"");
        let version = headers.get("x-amz-version-id").and_then(|id| id.to_str().ok());
        match (status, version) {
            (200, Some(version)) => version.to_owned(),
            _ => panic!("HEAD {bucket}/{key}: {status}, version {version:?}"),
        }
    }

    /// Reads an object. `None`: there is none, or a delete marker lies on it.
    pub fn get(&self, bucket: &str, key: &str) -> Option<Vec<u8>> {
        let (status, body) = self.call("s3", "GET", &format!("/{bucket}/{key}"), &[], b"");
        match status {
            200 => Some(body),
            404 => None,
            other => panic!("GET {bucket}/{key}: {other} {}", String::from_utf8_lossy(&body)),
        }
    }

    /// Deletes an object as people do: without a version id, so that a delete marker hides it. Returns the marker's version id.
    pub fn delete(&self, bucket: &str, key: &str) -> String {
        let (status, headers, answer) = self.exchange("s3", "DELETE", &format!("/{bucket}/{key}"), &[], b"");
        let marker = headers.get("x-amz-version-id").and_then(|id| id.to_str().ok());
        match (status, marker) {
            (204, Some(marker)) => marker.to_owned(),
            _ => panic!(
                "DELETE {bucket}/{key}: {status}, marker {marker:?} {}",
                String::from_utf8_lossy(&answer)
            ),
        }
    }

    /// The user metadata of a visible object, names without `x-amz-meta-`. `None`: there is none, or a delete marker lies on it.
    pub fn metadata(&self, bucket: &str, key: &str) -> Option<BTreeMap<String, String>> {
        let (status, headers, _) = self.exchange("s3", "HEAD", &format!("/{bucket}/{key}"), &[], b"");
        match status {
            200 => {
                let named = headers.iter().filter_map(|(name, value)| {
                    let name = name.as_str().strip_prefix("x-amz-meta-")?;
                    Some((name.to_owned(), value.to_str().unwrap_or_default().to_owned()))
                });
                Some(named.collect())
            }
            404 => None,
            other => panic!("HEAD {bucket}/{key}: {other}"),
        }
    }

    /// Keys of the visible objects, at most 1000, in order. For keys without characters that XML escapes.
    pub fn list(&self, bucket: &str, prefix: &str) -> Vec<String> {
        let answer = self.expect(
            "s3",
            "GET",
            &format!("/{bucket}?list-type=2&prefix={prefix}"),
            &[],
            b"",
        );
        let text = String::from_utf8_lossy(&answer).into_owned();
        assert!(
            !text.contains("<IsTruncated>true"),
            "more than 1000 keys in {bucket}/{prefix}"
        );
        text.split("<Key>")
            .skip(1)
            .filter_map(|part| part.split_once("</Key>"))
            .map(|(key, _)| key.to_owned())
            .collect()
    }

    /// Makes a queue. `attributes` as in the API; every value is text.
    pub fn make_queue(&self, name: &str, attributes: &Value) -> Queue {
        let made = self.json(
            "sqs",
            "AmazonSQS.CreateQueue",
            &json!({"QueueName": name, "Attributes": attributes}),
        );
        let url = made["QueueUrl"]
            .as_str()
            .unwrap_or_else(|| panic!("CreateQueue: {made}"))
            .to_owned();
        Queue {
            url,
            arn: format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"),
        }
    }

    /// A queue that somebody else made, by its ARN.
    pub fn queue_of(&self, arn: &str) -> Queue {
        let name = arn.rsplit(':').next().unwrap_or_default();
        Queue {
            url: format!("{}/{ACCOUNT}/{name}", self.url),
            arn: arn.to_owned(),
        }
    }

    /// Makes a topic. Returns its ARN.
    pub fn make_topic(&self, name: &str) -> String {
        self.form("sns", &[("Action", "CreateTopic"), ("Name", name)]);
        format!("arn:aws:sns:{REGION}:{ACCOUNT}:{name}")
    }

    /// Has a topic send to a queue what fits this filter policy.
    pub fn subscribe(&self, topic: &str, queue: &Queue, filter: &Value) {
        let filter = filter.to_string();
        let fields = [
            ("Action", "Subscribe"),
            ("TopicArn", topic),
            ("Protocol", "sqs"),
            ("Endpoint", &queue.arn),
            ("Attributes.entry.1.key", "FilterPolicy"),
            ("Attributes.entry.1.value", &filter),
        ];
        self.form("sns", &fields);
    }

    /// Sends a message.
    pub fn send(&self, queue: &Queue, body: &str) {
        self.json(
            "sqs",
            "AmazonSQS.SendMessage",
            &json!({"QueueUrl": queue.url, "MessageBody": body}),
        );
    }

    /// Sends a message with a number beside it.
    pub fn send_with(&self, queue: &Queue, body: &str, attribute: &str, number: u32) {
        let attributes = json!({attribute: {"DataType": "Number", "StringValue": number.to_string()}});
        self.json(
            "sqs",
            "AmazonSQS.SendMessage",
            &json!({"QueueUrl": queue.url, "MessageBody": body, "MessageAttributes": attributes}),
        );
    }

    /// Waits up to `seconds` for messages, at most ten.
    pub fn receive(&self, queue: &Queue, seconds: u32) -> Vec<Received> {
        let asked = json!({"QueueUrl": queue.url, "MaxNumberOfMessages": 10, "WaitTimeSeconds": seconds});
        let answer = self.json("sqs", "AmazonSQS.ReceiveMessage", &asked);
        let messages = answer["Messages"].as_array().cloned().unwrap_or_default();
        let text = |message: &Value, name: &str| message[name].as_str().unwrap_or_default().to_owned();
        messages
            .iter()
            .map(|m| Received {
                body: text(m, "Body"),
                receipt: text(m, "ReceiptHandle"),
            })
            .collect()
    }

    /// Takes a received message off its queue.
    pub fn done(&self, queue: &Queue, message: &Received) {
        let asked = json!({"QueueUrl": queue.url, "ReceiptHandle": message.receipt});
        self.json("sqs", "AmazonSQS.DeleteMessage", &asked);
    }

    /// Messages that are waiting and those that somebody is at work on.
    pub fn depth(&self, queue: &Queue) -> (u64, u64) {
        let names = [
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
        ];
        let asked = json!({"QueueUrl": queue.url, "AttributeNames": names});
        let answer = self.json("sqs", "AmazonSQS.GetQueueAttributes", &asked);
        let number = |name: &str| {
            let value = &answer["Attributes"][name];
            value
                .as_str()
                .and_then(|n| n.parse().ok())
                .unwrap_or_else(|| panic!("{name}: {answer}"))
        };
        (number(names[0]), number(names[1]))
    }

    /// Makes a function of a zip with a `bootstrap`. The code goes by way of a bucket.
    pub fn make_function(&self, name: &str, zip: &[u8], variables: &Value) {
        let bucket = format!("{name}-code");
        self.expect("s3", "PUT", &format!("/{bucket}"), &[], b"");
        self.put(&bucket, "code.zip", zip);
        let asked = json!({
            "FunctionName": name,
            "Runtime": "provided.al2023",
            "Handler": "bootstrap",
            "Role": format!("arn:aws:iam::{ACCOUNT}:role/stayput"),
            "Code": {"S3Bucket": bucket, "S3Key": "code.zip"},
            "Timeout": 30,
            "MemorySize": 256,
            "Environment": {"Variables": variables},
        });
        let headers = [("content-type", "application/json")];
        self.expect(
            "lambda",
            "POST",
            "/2015-03-31/functions",
            &headers,
            asked.to_string().as_bytes(),
        );
    }

    /// Has a function called with what is in a queue, each message acknowledged by itself.
    pub fn feed(&self, function: &str, queue: &Queue, batch: u32) {
        let asked = json!({
            "EventSourceArn": queue.arn,
            "FunctionName": function,
            "BatchSize": batch,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
        });
        let headers = [("content-type", "application/json")];
        self.expect(
            "lambda",
            "POST",
            "/2015-03-31/event-source-mappings/",
            &headers,
            asked.to_string().as_bytes(),
        );
    }

    /// What a function has logged so far, a line each; nothing before its first call.
    pub fn log(&self, function: &str) -> Vec<String> {
        self.log_of(&format!("/aws/lambda/{function}"))
    }

    /// What lies in a group of logs so far, a line each.
    pub fn log_of(&self, group: &str) -> Vec<String> {
        let asked = json!({"logGroupName": group, "limit": 10000});
        let headers = [
            ("content-type", "application/x-amz-json-1.1"),
            ("x-amz-target", "Logs_20140328.FilterLogEvents"),
        ];
        let (status, answer) = self.call("logs", "POST", "/", &headers, asked.to_string().as_bytes());
        let Ok(answer) = serde_json::from_slice::<Value>(&answer) else {
            panic!("FilterLogEvents: {status} {}", String::from_utf8_lossy(&answer))
        };
        let events = answer["events"].as_array().cloned().unwrap_or_default();
        let lines = events.iter().filter_map(|event| event["message"].as_str());
        lines.flat_map(|text| text.lines().map(str::to_owned)).collect()
    }

    /// Calls a function and waits for its answer.
    pub fn invoke(&self, function: &str, payload: &[u8]) -> Vec<u8> {
        let path = format!("/2015-03-31/functions/{function}/invocations");
        let headers = [("content-type", "application/json")];
        self.expect("lambda", "POST", &path, &headers, payload)
    }

    /// A call of the older services (CloudFormation, IAM), which take forms and answer in XML.
    pub(crate) fn form(&self, service: &str, fields: &[(&str, &str)]) -> String {
        let encoded = |text: &str| {
            let bytes = text.bytes().map(|b| match b {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(b).to_string(),
                b => format!("%{b:02X}"),
            });
            bytes.collect::<String>()
        };
        let body: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let answer = self.expect(service, "POST", "/", &headers, body.join("&").as_bytes());
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The outputs of a stack, by their keys.
    pub fn stack_outputs(&self, stack: &str) -> BTreeMap<String, String> {
        let fields = [("Action", "DescribeStacks"), ("StackName", stack)];
        let answer = self.form("cloudformation", &fields);
        let within = |text: &str, name: &str| {
            let (_, rest) = text.split_once(&format!("<{name}>"))?;
            let value = rest.split_once("</")?.0;
            Some(value.replace("&quot;", "\"").replace("&amp;", "&"))
        };
        answer
            .split("<OutputKey>")
            .skip(1)
            .filter_map(|part| {
                let key = part.split_once("</")?.0.to_owned();
                Some((key, within(part, "OutputValue")?))
            })
            .collect()
    }

    /// Takes an inline policy away from a role.
    pub fn delete_role_policy(&self, role: &str, policy: &str) {
        let fields = [
            ("Action", "DeleteRolePolicy"),
            ("RoleName", role),
            ("PolicyName", policy),
        ];
        self.form("iam", &fields);
    }
}
