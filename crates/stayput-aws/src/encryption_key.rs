//! The state of a key that objects are encrypted with.

use aws_sdk_kms::types::KeyState as SdkState;
use stayput_guard::doctor::KeyState;
use stayput_guard::port::PortError;

use crate::connection::Connection;
use crate::failure::Call;

/// DescribeKey: whether the key of this id, ARN or alias can be used.
///
/// # Errors
/// There is no such key, or KMS refuses.
pub async fn state(connection: &Connection, key: &str) -> Result<KeyState, PortError> {
    let subject = format!("the key {key}");
    let call = Call::about("DescribeKey", &subject);
    let client = aws_sdk_kms::Client::new(connection.sdk());
    let answer = client
        .describe_key()
        .key_id(key)
        .send()
        .await
        .map_err(|e| call.failed(&e))?;
    let described = answer
        .key_metadata()
        .ok_or_else(|| call.nonsense("the answer has no key"))?;
    Ok(match described.key_state() {
        Some(SdkState::Enabled) => KeyState::Enabled,
        Some(SdkState::Disabled) => KeyState::Disabled,
        Some(SdkState::PendingDeletion | SdkState::PendingReplicaDeletion) => KeyState::PendingDeletion,
        other => KeyState::Other(other.map_or("not said", SdkState::as_str).to_owned()),
    })
}
