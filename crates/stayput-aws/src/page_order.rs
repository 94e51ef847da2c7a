//! The order of versions and markers in one page of ListObjectVersions.
//!
//! The SDK sorts them into two lists, and which of a version and a marker is newer is then lost: times don't tell, as a
//! lifecycle marker is dated 00:00 UTC and may be older than what it hides. The answer itself has them in order, so
//! it is read a second time.

use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_s3::config::interceptors::AfterDeserializationInterceptorContextRef;
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::BoxError;
use aws_smithy_xml::decode::Document;

/// What a row of the page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Row {
    Version,
    Marker,
}

/// Keeps the order of the last answer that it saw.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageOrder(Arc<Mutex<Vec<Row>>>);

impl PageOrder {
    pub(crate) fn take(&self) -> Vec<Row> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint]
impl Intercept for PageOrder {
    fn name(&self) -> &'static str {
        "PageOrder"
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let rows = match context.response().body().bytes() {
            Some(bytes) => rows(bytes),
            None => Vec::new(),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = rows;
        Ok(())
    }
}

/// The kinds of the rows, in order. Of what is no such page nothing: the caller compares the number with what the SDK read.
fn rows(answer: &[u8]) -> Vec<Row> {
    let mut rows = Vec::new();
    let Ok(mut document) = Document::try_from(answer) else {
        return rows;
    };
    let Ok(mut root) = document.root_element() else {
        return rows;
    };
    while let Some(tag) = root.next_tag() {
        match tag.start_el().local() {
            "Version" => rows.push(Row::Version),
            "DeleteMarker" => rows.push(Row::Marker),
            _ => {}
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_the_order_of_the_answer() {
        let page = b"<?xml version=\"1.0\"?><ListVersionsResult><Name>b</Name>\
            <DeleteMarker><Key>a</Key><Version>no row</Version></DeleteMarker>\
            <Version><Key>a</Key></Version><Version><Key>a</Key></Version>\
            <DeleteMarker><Key>b</Key></DeleteMarker><CommonPrefixes/></ListVersionsResult>";
        use Row::{Marker, Version};
        assert_eq!(rows(page), [Marker, Version, Version, Marker]);
        assert_eq!(rows(b"no XML"), []);
        assert_eq!(rows(b""), []);
    }
}
