//! What Lambda is told: which messages of a batch failed, or whether a direct call did.

use lambda_runtime::Diagnostic;
use serde_json::{Value, json};

/// A call that must come again, or can't be answered at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CallError {
    /// What kind, as Lambda reports it.
    pub(crate) kind: ErrorKind,
    /// Everything that is wrong, for people.
    pub(crate) what: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ErrorKind {
    /// A retry may help: something couldn't be read just now.
    Transient,
    /// The payload, or a record of it, can't be used.
    Malformed,
    /// A defect of Stayput.
    Panicked,
}

impl std::convert::From<CallError> for Diagnostic {
    fn from(error: CallError) -> Self {
        let kind = match error.kind {
            ErrorKind::Transient => "Stayput.Transient",
            ErrorKind::Malformed => "Stayput.Malformed",
            ErrorKind::Panicked => "Stayput.Panicked",
        };
        Self {
            error_type: kind.to_owned(),
            error_message: error.what,
        }
    }
}

/// SQS's partial batch response. The shape must be exact: with a wrong one SQS deletes every message of the batch.
pub(crate) fn batch(failed: Vec<String>) -> Value {
    let failures: Vec<Value> = failed
        .into_iter()
        .map(|id| json!({"itemIdentifier": id}))
        .collect();
    json!({"batchItemFailures": failures})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_batch_response_has_the_one_shape_that_sqs_reads() {
        assert_eq!(batch(Vec::new()).to_string(), r#"{"batchItemFailures":[]}"#);
        assert_eq!(
            batch(vec!["a".to_owned(), "b".to_owned()]).to_string(),
            r#"{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"b"}]}"#
        );
    }
}
