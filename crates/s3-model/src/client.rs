//! A client's view of the world: what it calls, and what goes wrong on its way.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use s3_documents::bucket::Versioning;
use stayput_core::location::ObjectLocation;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;
use stayput_guard::port::{PortError, PortErrorKind};

use crate::bucket::ModelBucket;
use crate::call::{Call, subject};
use crate::error::ErrorCode;
use crate::fault::{Answer, Fault, Hit};
use crate::journal::ModelJournal;
use crate::world::{World, lock};

/// S3 as one client reaches it: it implements `Reading`, `CopyOnCondition`, `CopyInParts`, `Thaw` and `Clock`, and [`Self::journal`] gives a `Journal`.
///
/// Clones are the same client. [`Self::another_client`] shares buckets and time only.
#[derive(Clone)]
pub struct Model {
    pub(crate) world: Arc<World>,
    client: Arc<Mutex<Client>>,
}

/// Who isn't said to be somebody else.
const SOMEBODY: &str = "AWS:AROASOMEBODY:session";

type Hook = Arc<dyn Fn(&Model, &Call) + Send + Sync>;

#[derive(Default)]
struct Client {
    calls: Vec<Call>,
    faults: Vec<Fault>,
    hooks: Vec<Hook>,
    crashed: bool,
    principal: Option<Arc<str>>,
    ignores_conditions: bool,
    ignores_directives: bool,
    reads_in_vain: Vec<(ObjectLocation, VersionId)>,
    time_for_parts: Option<u32>,
}

/// Why the server refuses, before it is known which call that was.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) kind: PortErrorKind,
    pub(crate) code: ErrorCode,
    pub(crate) detail: Option<String>,
}

impl From<PortErrorKind> for Refusal {
    fn from(kind: PortErrorKind) -> Self {
        Self {
            kind,
            code: ErrorCode::of_kind(kind),
            detail: None,
        }
    }
}

impl From<ErrorCode> for Refusal {
    fn from(code: ErrorCode) -> Self {
        Self {
            kind: code.kind(),
            code,
            detail: Some(code.as_str().to_owned()),
        }
    }
}

impl Refusal {
    pub(crate) fn because(kind: PortErrorKind, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()),
            ..Self::from(kind)
        }
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("world", &self.world)
            .finish_non_exhaustive()
    }
}

impl Model {
    /// A world without buckets, at this time.
    pub fn new(now: Timestamp) -> Self {
        Self {
            world: Arc::new(World::new(now)),
            client: Arc::default(),
        }
    }

    /// Another client of the same buckets and clock, with calls, faults and crashes of its own.
    #[must_use]
    pub fn another_client(&self) -> Self {
        Self {
            world: Arc::clone(&self.world),
            client: Arc::default(),
        }
    }

    /// Calls of this client are those of this principal, as events name it: `AWS:AROASTAYPUT:stayput`.
    #[must_use]
    pub fn acting_as(self, principal: &str) -> Self {
        lock(&self.client).principal = Some(principal.into());
        self
    }

    pub(crate) fn principal(&self) -> Arc<str> {
        lock(&self.client)
            .principal
            .get_or_insert_with(|| SOMEBODY.into())
            .clone()
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.world.now()
    }

    /// Sets the time, for all clients. It may go back.
    pub fn set_now(&self, now: Timestamp) {
        self.world.set_now(now);
    }

    /// Lets time pass, for all clients.
    pub fn advance(&self, span: Duration) {
        self.world.set_now(self.world.now().plus(span));
    }

    /// Makes a bucket. If there is one of this name, it keeps what is in it and takes this versioning status.
    pub fn create_bucket(&self, name: &str, versioning: Versioning) -> ModelBucket {
        let bucket = ModelBucket {
            world: Arc::clone(&self.world),
            state: self.world.bucket_or_new(name),
            principal: SOMEBODY.into(),
        };
        bucket.set_versioning(versioning);
        bucket
    }

    /// The bucket of this name, if it was made.
    pub fn bucket(&self, name: &str) -> Option<ModelBucket> {
        Some(ModelBucket {
            world: Arc::clone(&self.world),
            state: self.world.bucket(name)?,
            principal: SOMEBODY.into(),
        })
    }

    /// A journal of this client in a bucket, below a key prefix (empty, or with a `/` at its end).
    pub fn journal(&self, bucket: &ModelBucket, prefix: &str) -> ModelJournal {
        ModelJournal {
            client: self.clone(),
            bucket: bucket.name().to_owned(),
            prefix: prefix.to_owned(),
        }
    }

    /// Plans a failure. If several meet a call, the one planned first counts; all of them have seen it.
    pub fn plan(&self, fault: Fault) {
        lock(&self.client).faults.push(fault);
    }

    /// Forgets all planned failures.
    pub fn forget_faults(&self) {
        lock(&self.client).faults.clear();
    }

    /// Has this done before each call of this client takes effect: the moment in which another writer comes first. The call is given as it will be recorded,
    /// with `pages` 0. Calls that the hook makes itself should be those of [`Self::another_client`], or it meets them too.
    pub fn on_call(&self, hook: impl Fn(&Self, &Call) + Send + Sync + 'static) {
        lock(&self.client).hooks.push(Arc::new(hook));
    }

    /// Forgets all hooks.
    pub fn forget_hooks(&self) {
        lock(&self.client).hooks.clear();
    }

    /// Whether the server ignores `If-None-Match` on CopyObject, as some S3-compatible ones do: it copies over what is visible, and says so
    /// with `condition_honoured: false`.
    pub fn set_ignores_conditions(&self, ignores: bool) {
        lock(&self.client).ignores_conditions = ignores;
    }

    pub(crate) fn ignores_conditions(&self) -> bool {
        lock(&self.client).ignores_conditions
    }

    /// Whether the server ignores the directive to replace metadata on CopyObject: a copy then has its source's own metadata and none of ours.
    pub fn set_ignores_directives(&self, ignores: bool) {
        lock(&self.client).ignores_directives = ignores;
    }

    pub(crate) fn ignores_directives(&self) -> bool {
        lock(&self.client).ignores_directives
    }

    /// Gives the client time for so many more parts of uploads; `None`: for as many as it likes.
    pub fn set_time_for_parts(&self, parts: Option<u32>) {
        lock(&self.client).time_for_parts = parts;
    }

    pub(crate) fn time_for_parts(&self) -> Option<u32> {
        lock(&self.client).time_for_parts
    }

    pub(crate) fn spend_time_for_a_part(&self) {
        let mut client = lock(&self.client);
        client.time_for_parts = client.time_for_parts.map(|parts| parts.saturating_sub(1));
    }

    /// Whether the client has crashed.
    pub fn has_crashed(&self) -> bool {
        lock(&self.client).crashed
    }

    /// Lets a crashed client call again: the process was started anew. Hooks and faults that aren't spent stay.
    pub fn revive(&self) {
        lock(&self.client).crashed = false;
    }

    /// All calls so far, in order.
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.client).calls.clone()
    }

    /// All calls since the last time, in order; they are forgotten.
    pub fn take_calls(&self) -> Vec<Call> {
        std::mem::take(&mut lock(&self.client).calls)
    }

    /// The requests of one operation so far, pages counted singly.
    pub fn requests(&self, operation: &str) -> u64 {
        let client = lock(&self.client);
        let of = client.calls.iter().filter(|c| c.operation == operation);
        of.map(|c| u64::from(c.pages)).sum()
    }

    /// All requests so far, pages counted singly.
    pub fn all_requests(&self) -> u64 {
        lock(&self.client).calls.iter().map(|c| u64::from(c.pages)).sum()
    }

    /// Versions with [`Content::Withheld`](crate::Content::Withheld) that this client asked for all the same.
    pub fn reads_in_vain(&self) -> Vec<(ObjectLocation, VersionId)> {
        lock(&self.client).reads_in_vain.clone()
    }

    pub(crate) fn note_read_in_vain(&self, location: ObjectLocation, version: VersionId) {
        lock(&self.client).reads_in_vain.push((location, version));
    }

    /// One call through a port.
    pub(crate) fn call<T>(
        &self,
        operation: &'static str,
        bucket: &str,
        key: &str,
        version: Option<&VersionId>,
        work: impl FnOnce(&Self) -> (Result<T, Refusal>, u32),
    ) -> Result<T, PortError> {
        let call = Call {
            operation,
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            version: version.cloned(),
            pages: 0,
            error: None,
            crashed: false,
        };
        self.attempt(call, work).map_err(|refusal| PortError {
            kind: refusal.kind,
            operation,
            subject: subject(bucket, key),
            detail: refusal.detail,
        })
    }

    /// One call: hooks, crash, planned failure, the work itself, and the record of it. The work gives the answer and the number of requests.
    pub(crate) fn attempt<T>(
        &self,
        mut call: Call,
        work: impl FnOnce(&Self) -> (Result<T, Refusal>, u32),
    ) -> Result<T, Refusal> {
        let (hooks, hit) = {
            let mut client = lock(&self.client);
            if client.crashed {
                return Err(Self::dead(&mut client, call));
            }
            let hit = client.hit(&call);
            (client.hooks.clone(), hit)
        };
        for hook in hooks {
            hook(self, &call);
        }
        let answer = match hit {
            Some(hit) if !hit.after_the_effect => Err(hit.answer),
            hit => {
                let (answer, pages) = work(self);
                call.pages = pages;
                match hit {
                    Some(hit) => Err(hit.answer),
                    None => Ok(answer),
                }
            }
        };
        let mut client = lock(&self.client);
        if client.crashed {
            return Err(Self::dead(&mut client, call));
        }
        let refusal = match answer {
            Ok(Ok(answer)) => {
                client.calls.push(call);
                return Ok(answer);
            }
            Ok(Err(refusal)) => refusal,
            Err(Answer::Error(kind)) => Refusal::because(kind, "as planned"),
            Err(Answer::Code(code)) => code.into(),
            Err(Answer::Crash) => {
                client.crashed = true;
                return Err(Self::dead(&mut client, call));
            }
        };
        call.error = Some(refusal.kind);
        client.calls.push(call);
        Err(refusal)
    }

    /// Whether a failure was planned for this key of a batch; the batch itself goes on.
    pub(crate) fn hit_in_batch(&self, call: &Call) -> Option<Hit> {
        lock(&self.client).hit(call)
    }

    pub(crate) fn crash(&self) {
        lock(&self.client).crashed = true;
    }

    fn dead(client: &mut Client, mut call: Call) -> Refusal {
        call.crashed = true;
        call.error = Some(PortErrorKind::Transient);
        client.calls.push(call);
        Refusal::because(
            PortErrorKind::Transient,
            "the caller has crashed; nobody hears this answer",
        )
    }
}

impl Client {
    /// Every fault counts the calls that fit it, also when another one has already taken this call.
    fn hit(&mut self, call: &Call) -> Option<Hit> {
        let mut first = None;
        for fault in &mut self.faults {
            first = first.or(fault.meets(call));
        }
        first
    }
}
